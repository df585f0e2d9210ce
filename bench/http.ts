import { fork } from 'node:child_process';
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { setTimeout as elapse } from 'node:timers/promises';
import type { Serving } from './http-server.ts';
import { BenchRedis } from './rig/redis.ts';

const PER_SECOND = 500;
const SECONDS = 20;

/** What POST /v1/messages must keep to: milliseconds, at 500 a second on this machine. */
const TARGET_P99_MS = 25;

const agent = new Agent({ keepAlive: true, maxSockets: 64 });
let sent = 0;

/** Hands one new message in, of a conversation of its own. Answers the status. */
function handIn({ url, token }: Serving): Promise<number> {
  sent += 1;
  const body = JSON.stringify({
    ...{ source: 'bench', conversationId: `c${sent}`, messageId: `m${sent}` },
    text: 'Where is my order 7781? It was to arrive last week.',
    requester: { id: 'ana@example.com', assurance: 'verified' },
  });
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  return new Promise((resolve, reject) => {
    request(`${url}/v1/messages`, { method: 'POST', agent, headers }, (response) => {
      response.resume().on('end', () => resolve(response.statusCode ?? 0));
    })
      .on('error', reject)
      .end(body);
  });
}

/**
 * Messages at a fixed rate, each at its own moment whatever became of those before it. Answers how long each took from the
 * moment it was due, in milliseconds, and how many were not answered with 202.
 */
async function measure(serving: Serving, seconds: number) {
  const startedAt = performance.now();
  const took: number[] = [];
  let refused = 0;
  const all: Promise<void>[] = [];
  for (let index = 0; index < seconds * PER_SECOND; index += 1) {
    const dueAt = startedAt + (index * 1_000) / PER_SECOND;
    const wait = dueAt - performance.now();
    if (wait > 0) await elapse(wait);
    all.push(
      handIn(serving)
        .catch(() => 0)
        .then((status) => {
          took.push(performance.now() - dueAt);
          if (status !== 202) refused += 1;
        }),
    );
  }
  await Promise.all(all);
  const sorted = took.toSorted((a, b) => a - b);
  const at = (share: number): number => sorted[Math.ceil(share * sorted.length) - 1] ?? 0;
  const perSecond = (1_000 * took.length) / (performance.now() - startedAt);
  const [p50, p90, p99, max] = [at(0.5), at(0.9), at(0.99), at(1)].map((ms) => Math.round(ms));
  return { perSecond: Math.round(perSecond), p50, p90, p99, max, refused };
}

const redis = await BenchRedis.start();
const server = fork(new URL('http-server.ts', import.meta.url), [redis.url]);
try {
  const [serving] = (await once(server, 'message')) as [Serving];
  // Code that has not run yet is slow once.
  await measure(serving, 3);
  const figures = await measure(serving, SECONDS);
  const kept = (figures.p99 ?? Infinity) < TARGET_P99_MS && figures.refused === 0;
  process.stdout.write(`${JSON.stringify({ ...figures, targetP99: TARGET_P99_MS, kept })}\n`);
  process.exitCode = kept ? 0 : 1;
} finally {
  agent.destroy();
  server.disconnect();
  await redis.stop();
}
