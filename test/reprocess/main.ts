import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { startRedis } from '../../src/store/embedded-redis.ts';
import { findingsOf } from './findings.ts';
import { playReprocess } from './scenario.ts';

/** Full size: 2,000 escalated turns of which 700 have refunded, with the order service's idempotency on and then off. */
const { values } = parseArgs({
  options: {
    cases: { type: 'string', default: '2000' },
    refunded: { type: 'string', default: '700' },
    lives: { type: 'string', default: '200' },
    kills: { type: 'string', default: '6' },
  },
});
const size = {
  cases: Number(values.cases),
  refunded: Number(values.refunded),
  lives: Number(values.lives),
  kills: Number(values.kills),
};

const dataDir = mkdtempSync(join(tmpdir(), 'turnkeeper-reprocess-'));
const redis = await startRedis({ dataDir });
try {
  for (const keys of ['on', 'off'] as const) {
    const startedAt = Date.now();
    const elapsed = (): string => `${Math.round((Date.now() - startedAt) / 1_000)} s`;
    const onProgress = (line: string): void => console.log(`keys ${keys}: ${line} (${elapsed()})`);
    const where = { redisUrl: redis.url, prefix: `reprocess-${keys}-`, keys };
    const played = await playReprocess({ ...where, ...size, onProgress });
    const findings = findingsOf(played, size);
    const { ran, refunds, replies, asked } = played;
    const books = { refunds: histogram(refunds), replies: histogram(replies), asked: asked.size };
    console.log(JSON.stringify({ ...played, ran: ran.length, ...books }, null, 2));
    for (const finding of findings.slice(0, 20)) console.log(`  ${finding}`);
    console.log(`keys ${keys}: ${findings.length} findings, ${elapsed()}`);
    if (findings.length > 0) process.exitCode = 1;
  }
} finally {
  await redis.stop();
  rmSync(dataDir, { recursive: true, force: true });
}

/** How many were there how often: `{1: 2000}`. */
function histogram(counts: ReadonlyMap<string, number>): Record<number, number> {
  const found: Record<number, number> = {};
  for (const count of counts.values()) found[count] = (found[count] ?? 0) + 1;
  return found;
}
