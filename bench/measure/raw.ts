import { Queue, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { Counter, concurrently } from '../rig/concurrently.ts';
import { CLIENTS, CONCURRENCY } from '../rig/settings.ts';

export type RawOptions = {
  redisUrl: string;
  prefix: string;
  jobs: number;
  /** What a job does: nothing, or three Redis calls one after the other. */
  body: 'noop' | 'three-calls';
};

/**
 * Plain BullMQ in its usual set-up beside a full turn: same Redis, one connection that adds and one that works, the same
 * number of adds and of jobs at a time, finished jobs removed as ours are. Answers jobs per second from the first add to
 * the last completion, workers running all the while.
 */
export async function rawJobsPerSecond(options: RawOptions): Promise<number> {
  const { redisUrl, prefix, jobs, body } = options;
  const adding = new Redis(redisUrl, { maxRetriesPerRequest: null });
  const working = new Redis(redisUrl, { maxRetriesPerRequest: null });
  const shared = { prefix: `{${prefix}}` };
  const queue = new Queue('jobs', { ...shared, connection: adding });
  const done = new Counter();
  const worker = new Worker<{ id: string }>(
    'jobs',
    async ({ data }) => {
      if (body === 'noop') return;
      const name = `{${prefix}}:body:${data.id}`;
      await working.hgetall(name);
      await working.hset(name, 'phase', 'ended', 'endedAt', Date.now());
      await working.rpush(`${name}:events`, 'ended');
    },
    { ...shared, connection: working, concurrency: CONCURRENCY },
  );
  worker.on('completed', () => done.add());
  await Promise.all([queue.waitUntilReady(), worker.waitUntilReady()]);

  const startedAt = performance.now();
  await concurrently(Array.from({ length: jobs }).keys(), CLIENTS, (job) =>
    queue.add('poke', { id: `bench/c${job}` }, { removeOnComplete: true, removeOnFail: true }),
  );
  await done.reached(jobs);
  const seconds = (performance.now() - startedAt) / 1_000;

  await worker.close();
  await queue.close();
  await Promise.all([adding.quit(), working.quit()]);
  return jobs / seconds;
}
