import { fork } from 'node:child_process';
import { once } from 'node:events';
import autocannon from 'autocannon';
import type { Serving } from './http-server.ts';
import { BenchRedis } from './rig/redis.ts';

const PER_SECOND = 500;
const SECONDS = 20;
const CONNECTIONS = 20;

/** What POST /v1/messages must keep to: milliseconds, at 500 a second on this machine. */
const TARGET_P99_MS = 25;

/** Hands new messages in at a fixed rate, each of a conversation of its own, and says how long the answers took. */
async function measure({ url, token }: Serving, seconds: number): Promise<autocannon.Result> {
  return autocannon({
    url: `${url}/v1/messages`,
    method: 'POST',
    connections: CONNECTIONS,
    overallRate: PER_SECOND,
    duration: seconds,
    idReplacement: true,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      source: 'bench',
      conversationId: '[<id>]',
      messageId: '[<id>]',
      text: 'Where is my order 7781? It was to arrive last week.',
      requester: { id: 'ana@example.com', assurance: 'verified' },
    }),
  });
}

const redis = await BenchRedis.start();
const server = fork(new URL('http-server.ts', import.meta.url), [redis.url]);
try {
  const [serving] = (await once(server, 'message')) as [Serving];
  // Code that has not run yet is slow once.
  await measure(serving, 3);
  const { latency, requests, non2xx, errors } = await measure(serving, SECONDS);
  const { p50, p90, p99, max } = latency;
  const perSecond = requests.average;
  const kept = p99 < TARGET_P99_MS && non2xx === 0 && errors === 0;
  const figures = { perSecond, p50, p90, p99, max, non2xx, errors };
  process.stdout.write(`${JSON.stringify({ ...figures, targetP99: TARGET_P99_MS, kept })}\n`);
  process.exitCode = kept ? 0 : 1;
} finally {
  server.disconnect();
  await redis.stop();
}
