import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startRedis } from '../../src/store/embedded-redis.ts';
import { loadTurns } from './load/turns.ts';

/**
 * 500 turns at concurrency 200 against a local endpoint at which a fifth of the requests meets a fault:
 * `node test/models/load-turns.ts [turns] [concurrency]`. Prints one line of JSON; ends with 1 when a turn has no outcome, a
 * slot was held by a wait, or something was left open.
 */
const [turns = 500, concurrency = 200] = process.argv.slice(2).map(Number);
/** The event-loop delay a quiet machine keeps. Milliseconds. */
const P99_MS = 50;
/** The longest wait inside a call and what a timer may be late. Milliseconds. */
const LONGEST_WAIT_MS = 1_500;

const dataDir = mkdtempSync(join(tmpdir(), 'turnkeeper-load-'));
const redis = await startRedis({ dataDir });
try {
  const report = await loadTurns(redis.url, { turns, concurrency });
  const ended = Object.values(report.outcomes).reduce((sum, count) => sum + count, 0);
  const { waitedInCallMs, parkedAfterMs, served, warnings, eventLoopP99Ms } = report;
  const holds =
    ended === turns &&
    !Object.hasOwn(report.outcomes, 'null/null') &&
    Math.max(waitedInCallMs, parkedAfterMs) <= LONGEST_WAIT_MS &&
    served.open === 0 &&
    Math.max(served.most, served.sockets) <= concurrency &&
    warnings.length === 0;
  const p99 = `event-loop delay p99 ${eventLoopP99Ms} ms (target ${P99_MS} ms on a quiet machine)`;
  process.stdout.write(`${JSON.stringify(report)}\n${p99}\n${holds ? 'holds' : 'does not hold'}\n`);
  process.exitCode = holds ? 0 : 1;
} finally {
  await redis.stop();
  rmSync(dataDir, { recursive: true, force: true });
}
