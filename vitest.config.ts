import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** What takes long by its nature: `npm run test:long`. */
const LONG = [
  'test/e2e/**/*.test.ts',
  'test/suites/**/*.test.ts',
  'test/grafana/{alerts-live,prometheus}.test.ts',
  'test/models/load/**/*.test.ts',
  'test/demo/demo.test.ts',
  'test/evals/compare.test.ts',
  'test/cli/{acts,approvals,enqueue,enqueue-size,lists,mail,model-file,reprocess,sweep,up}.test.ts',
  'test/contracts/exhaustive.test.ts',
  'test/examples/technova-lost-answers.test.ts',
  'test/http/command-line.test.ts',
  'test/workers/{killed-messages,killed-waits,models-waiting}.test.ts',
  'test/retrieval/{kb,evaluation,interrupted,scan-speed}.test.ts',
];
const isLong = process.env['TESTS'] === 'long';

/** What waits longest begins first, so that nothing else waits for it in the end. */
class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const slow = ({ moduleId }: TestSpecification): number =>
      [
        'crash.test',
        'alerts-live.test',
        'demo.test',
        'enqueue.test',
        'reprocess.test',
        'up.test',
      ].some((name) => moduleId.includes(`/${name}`))
        ? 0
        : 1;
    return (await super.sort(files)).toSorted((a, b) => slow(a) - slow(b));
  }
}

export default defineConfig({
  test: {
    sequence: { sequencer: SlowFirst },
    include: isLong ? LONG : ['test/**/*.test.ts'],
    exclude: isLong ? [] : LONG,
    globalSetup: ['test/support/global-setup.ts'],
    reporters: ['default', './test/support/closing-line.ts'],
    pool: 'forks',
    // Most of a test is waiting for other processes: three at a time fit on two cores.
    maxWorkers: 3,
    testTimeout: 30_000,
    hookTimeout: 60_000,
    teardownTimeout: 20_000,
  },
});
