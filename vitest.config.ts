import { defineConfig } from 'vitest/config';

/** What takes long by its nature: `npm run test:long`. */
const LONG = [
  'test/e2e/**/*.test.ts',
  'test/suites/**/*.test.ts',
  'test/grafana/prometheus.test.ts',
  'test/models/load/**/*.test.ts',
  'test/cli/{enqueue-size,mail,model-file,reprocess,sweep}.test.ts',
  'test/http/command-line.test.ts',
  'test/workers/{killed-waits,models-waiting}.test.ts',
  'test/retrieval/{kb,evaluation,interrupted,scan-speed}.test.ts',
];
const isLong = process.env['TESTS'] === 'long';

export default defineConfig({
  test: {
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
