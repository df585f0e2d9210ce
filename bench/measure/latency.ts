import { Redis } from 'ioredis';
import { pause } from '../rig/concurrently.ts';
import { Pipeline } from '../rig/pipeline.ts';
import type { BenchRedis } from '../rig/redis.ts';
import { CONCURRENCY } from '../rig/settings.ts';
import { percentile } from '../rig/statistics.ts';
import { benchAgent, tickets } from '../rig/workload.ts';

export type Latency = {
  p50Ms: number;
  p99Ms: number;
  baselineP50Ms: number;
  baselineP99Ms: number;
};

const PER_SECOND = 200;

/**
 * From the moment a message was to be handed in to the acknowledged commit of its turn, at a steady rate, with the whole
 * host as shipped. A message that had to be handed in late counts from when it was due. The baseline is one PING and one
 * SET, one after the other, at the same rate on the same server without the turns: half of it before them, half after.
 */
export async function measureLatency(redis: BenchRedis, seconds: number): Promise<Latency> {
  await redis.empty();
  const count = PER_SECOND * seconds;
  const baseline = await pingAndSet(redis.url, count / 2);
  const turns = await turnLatencies(redis.url, count);
  baseline.push(...(await pingAndSet(redis.url, count / 2)));
  return {
    p50Ms: percentile(turns, 0.5),
    p99Ms: percentile(turns, 0.99),
    baselineP50Ms: percentile(baseline, 0.5),
    baselineP99Ms: percentile(baseline, 0.99),
  };
}

async function turnLatencies(redisUrl: string, count: number): Promise<number[]> {
  const dueAt = new Map<string, number>();
  const took: number[] = [];
  const pipeline = await Pipeline.open({
    ...{ redisUrl, prefix: 'latency-', agent: benchAgent('read') },
    ...{ concurrency: CONCURRENCY, duties: 'all' },
    onCommit: (id) => took.push(performance.now() - (dueAt.get(id) ?? NaN)),
  });
  await pipeline.startWorkers();
  const warmUp = PER_SECOND;
  const messages = tickets('read', warmUp + count, 1);
  await atSteadyRate(messages, (ticket, due) => {
    dueAt.set(`bench/${ticket.conversationId}`, due);
    return pipeline.accept(ticket);
  });
  await pipeline.store.committed.reached(warmUp + count);
  await pipeline.close();
  return took.slice(warmUp);
}

async function pingAndSet(redisUrl: string, count: number): Promise<number[]> {
  const client = new Redis(redisUrl);
  const took: number[] = [];
  await atSteadyRate(Array.from({ length: count }).keys(), async (index, due) => {
    await client.ping();
    await client.set(`baseline:${index}`, 'x'.repeat(120));
    took.push(performance.now() - due);
  });
  client.disconnect();
  return took;
}

/**
 * Starts one item every 5 ms, whatever became of those before it; resolves when all have settled. An item counts from
 * its start, or from when it was due if this process was too busy to start it: waiting for us is waiting, too.
 */
async function atSteadyRate<T>(
  items: Iterable<T>,
  start: (item: T, countsFrom: number) => Promise<unknown>,
): Promise<void> {
  const running: Promise<unknown>[] = [];
  const beginning = performance.now();
  for (const item of items) {
    const due = beginning + (running.length * 1_000) / PER_SECOND;
    const early = due - performance.now();
    if (early > 0) await pause(early);
    const now = performance.now();
    running.push(start(item, now - due > TIMER_ERROR_MS ? due : now));
  }
  await Promise.all(running);
}

/** Node's timers fire up to this late on an idle machine. */
const TIMER_ERROR_MS = 2;
