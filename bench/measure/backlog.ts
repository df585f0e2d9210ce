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
 * workers start. Keyed by the number of messages that waited.
 */
export async function measureBacklog(
  redis: BenchRedis,
  size: Size,
  progress: (text: string) => void,
): Promise<Record<string, number>> {
  const perSecond: Record<string, number> = {};
  for (const backlog of size.backlogs) {
    progress(`backlog of ${backlog}`);
    // A small backlog is gone after one slice and is filled anew; of a large one several slices are taken.
    const slices: number[] = [];
    while (slices.length < size.repeats) {
      await redis.empty();
      const pipeline = await filled(redis.url, backlog, `backlog-${backlog}-${slices.length}-`);
      do {
        slices.push(await drainSlice(pipeline, size.slice));
      } while (slices.length < size.repeats && backlog >= 20 * size.slice);
      await pipeline.close();
    }
    perSecond[String(backlog)] = median(slices);
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
