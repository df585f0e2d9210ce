import { QUEUES, type QueueName } from '../contracts/index.ts';
import type { Queues } from '../producers/index.ts';
import { laneStanding, redisState } from '../store/standing.ts';
import type { Store } from '../store/index.ts';
import type { LaneState, SharedStateReader } from '../telemetry/metrics/index.ts';

/** Reads what all processes share: counts and heads of indexes, never single conversations. */
export function sharedState(store: Store, queues: Queues): SharedStateReader {
  return {
    now: () => store.clock().now(),
    redis: () => redisState(store.redis),
    lanes: () =>
      Promise.all(
        store.tags().map(async (tag, lane): Promise<LaneState> => {
          const [jobs, standing] = await Promise.all([
            jobsOf(queues, tag),
            laneStanding(store.redis, tag),
          ]);
          return { lane: String(lane), jobs, ...standing };
        }),
      ),
  };
}

async function jobsOf(queues: Queues, tag: string): Promise<LaneState['jobs']> {
  const entries = await Promise.all(
    (Object.keys(QUEUES) as QueueName[]).map(async (name) => {
      const queue = queues.inLane(name, tag);
      const [counts, [next]] = await Promise.all([
        queue.getJobCounts('waiting', 'active', 'delayed', 'waiting-children'),
        queue.getWaiting(0, 0),
      ]);
      const { waiting = 0, active = 0, delayed = 0 } = counts;
      const jobs = { waiting, active, delayed, waiting_children: counts['waiting-children'] ?? 0 };
      return [
        name,
        { ...jobs, ...(next === undefined ? {} : { oldestAt: next.timestamp }) },
      ] as const;
    }),
  );
  return Object.fromEntries(entries) as LaneState['jobs'];
}
