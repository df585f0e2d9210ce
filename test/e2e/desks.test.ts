import { expect, test } from 'vitest';
import { runDesks } from './desks.ts';
import { smallSize } from './settings.ts';

/** `node test/e2e/desks.ts` is the full size, with a seed of its own; this is small enough for every run. */
const SEED = 11;

test(
  '[P1] [P13] [P14] with events twice and out of order, echoes, and the service and workers killed: one turn a message, one public reply a turn, none after a person',
  { timeout: 90_000 },
  async () => {
    const { findings, ...result } = await runDesks(smallSize(SEED));

    expect(findings, JSON.stringify(result)).toEqual([]);
  },
);
