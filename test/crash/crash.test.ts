import { expect, test } from 'vitest';
import { PLANTED_FAULTS } from './planted-faults.ts';
import { plant, TREE } from './planted.ts';
import { describeRun } from './report.ts';
import { run } from './run.ts';
import { smallSize } from './settings.ts';

/** `npm run crash` is the full size, with a seed of its own; this is small enough for every run. */
const SEED = 7;

// Both wait most of the time.
test.concurrent.for(['on', 'off'] as const)(
  '[P1] [P2] [P4] [P11] workers and Redis are killed, stopped and cut off: no message lost, none twice, every effect once (idempotency keys %s)',
  { timeout: 150_000 },
  async (keys, { expect: check }) => {
    const result = await run({ ...smallSize(SEED), keys });

    check(result.findings, describeRun(result)).toEqual([]);
  },
);

test.each(PLANTED_FAULTS.map((fault) => ({ fault, name: fault.name })))(
  'the planted fault still finds its place in the source: $name',
  ({ fault }) => {
    expect(() => plant(TREE, fault)).not.toThrow();
  },
);
