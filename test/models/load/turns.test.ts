import { expect, inject, test } from 'vitest';
import { SHORT_WAIT_MS } from '../../../src/calls/model-client.ts';
import { loadTurns } from './turns.ts';

const TURNS = 40;
const CONCURRENCY = 16;
/** What a timer may be late on a busy machine. Milliseconds. */
const LATE_MS = 500;

test(`[P8] ${TURNS} turns, ${CONCURRENCY} at a time, a fifth of the requests faulty: each ends, none waits in its slot for long, nothing is left open`, async () => {
  const report = await loadTurns(inject('redisUrl'), { turns: TURNS, concurrency: CONCURRENCY });

  console.log(JSON.stringify(report));
  expect(report.outcomes).toEqual({ 'completed/replied': TURNS });
  expect(report.requests).toBeGreaterThanOrEqual(2.4 * TURNS);
  expect(Object.keys(report.failures)).toEqual(
    expect.arrayContaining(['server_error', 'network_failure', 'silence', 'rate_limited']),
  );
  expect(report.waitedInCallMs).toBeGreaterThanOrEqual(290);
  expect(report.waitedInCallMs).toBeLessThanOrEqual(SHORT_WAIT_MS + LATE_MS);
  expect(report.parkedAfterMs).toBeLessThanOrEqual(LATE_MS);
  expect(report.served.open).toBe(0);
  expect(Math.max(report.served.most, report.served.sockets)).toBeLessThanOrEqual(CONCURRENCY);
  expect(report.warnings).toEqual([]);
}, 60_000);
