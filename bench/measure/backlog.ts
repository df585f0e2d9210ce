import { concurrently } from '../rig/concurrently.ts';
import { Pipeline } from '../rig/pipeline.ts';
import type { BenchRedis } from '../rig/redis.ts';
import { CLIENTS, CONCURRENCY, type Size } from '../rig/settings.ts';
import { median } from '../rig/statistics.ts';
import { benchAgent, tickets } from '../rig/workload.ts';

/** Turns at the start of a slice that are not counted: workers start, compiled code warms up. */
const LEAD_IN = 100;

/**
 * Turns per second while a slice of a backlog is drained: each message of another conversation, all accepted before the
 * workers start. Keyed by the number of messages that waited. The largest one lies between two halves of the smaller
 * ones, so that a machine that gets busier meanwhile does not look like a backlog that slows us down.
 */
export async function measureBacklog(
  redis: BenchRedis,
  size: Size,
  progress: (text: string) => void,
): Promise<Record<string, number>> {
  const half = Math.ceil(size.repeats / 2);
  const smaller = size.backlogs.slice(0, -1).map((backlog) => ({ backlog, slices: half }));
  const largest = size.backlogs.slice(-1).map((backlog) => ({ backlog, slices: 2 * half }));
  const perSecond = new Map<number, number[]>();
  for (const { backlog, slices } of [...smaller, ...largest, ...smaller.toReversed()]) {
    progress(`backlog of ${backlog}`);
    const drained = await drainSlices(redis, backlog, size.slice, slices);
    perSecond.set(backlog, [...(perSecond.get(backlog) ?? []), ...drained]);
  }
  return Object.fromEntries([...perSecond].map(([backlog, all]) => [backlog, median(all)]));
}

/** A small backlog is gone after one slice and is filled anew; of a large one several slices are taken. */
async function drainSlices(
  redis: BenchRedis,
  backlog: number,
  slice: number,
  slices: number,
): Promise<number[]> {
  const perSecond: number[] = [];
  while (perSecond.length < slices) {
    await redis.empty();
    const pipeline = await filled(redis.url, backlog, `backlog-${backlog}-${perSecond.length}-`);
    await redis.fileRewritten();
    do {
      perSecond.push(await drainSlice(pipeline, slice));
    } while (perSecond.length < slices && backlog >= 20 * slice);
    await pipeline.close();
  }
  return perSecond;
}

async function filled(redisUrl: string, backlog: number, prefix: string): Promise<Pipeline> {
  const pipeline = await Pipeline.open({
    ...{ redisUrl, prefix, agent: benchAgent('read') },
    ...{ concurrency: CONCURRENCY, duties: 'turns' },
  });
  await concurrently(tickets('read', backlog, 1), CLIENTS, (ticket) => pipeline.accept(ticket));
  return pipeline;
}

async function drainSlice(pipeline: Pipeline, slice: number): Promise<number> {
  const { committed } = pipeline.store;
  const start = committed.count;
  await pipeline.startWorkers();
  await committed.reached(start + LEAD_IN);
  const startedAt = performance.now();
  const from = committed.count;
  await committed.reached(start + LEAD_IN + slice);
  const perSecond = ((committed.count - from) * 1_000) / (performance.now() - startedAt);
  await pipeline.stopWorkers();
  return perSecond;
}
