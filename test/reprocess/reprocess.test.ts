import { inject, expect, test } from 'vitest';
import { findingsOf } from './findings.ts';
import { playReprocess } from './scenario.ts';

/** `node test/reprocess/main.ts` plays 2,000 cases, also with keys; this is small enough for every run. */
const SIZE = { cases: 32, refunded: 10, lives: 6, kills: 1 };

test(
  '[P1] [P4] [P14] escalated cases run again, aborted in the middle, resumed, a worker killed, customers writing meanwhile, a shop that knows no keys: nothing is paid twice, nobody is answered twice, and what was promised is what happened',
  { timeout: 90_000 },
  async () => {
    const played = await playReprocess({
      ...{ redisUrl: inject('redisUrl'), prefix: `again${process.pid}-`, keys: 'off' },
      ...SIZE,
    });

    expect(findingsOf(played, SIZE), JSON.stringify(played.rest)).toEqual([]);
    expect(played.kills).toBe(SIZE.kills);
    expect(played.rest.states.skipped).toBeGreaterThan(0);
  },
);
