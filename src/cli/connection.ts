import type { Redis } from 'ioredis';
import { maskedUrl, type Settings } from '../config/index.ts';
import type { Queues } from '../producers/index.ts';
import type { Operator } from '../producers/operator.ts';
import { ingressConnection, Store } from '../store/index.ts';
import { Records, storedLanes } from '../store/records.ts';
import { CommandError, EXIT } from './errors.ts';
import { redisPlace } from './redis-place.ts';

/** How long a command waits for Redis before it says that it is not there. */
const PATIENCE_MS = 3_000;

export type Connected = { redis: Redis; url: string; store: Store; records: Records };

/**
 * Runs work on the records, with a Redis that is known to answer, and lets go of it afterwards.
 *
 * @throws CommandError when Redis does not answer, LaneCountError when LANES is not the number it was started with
 */
export async function withRecords<T>(
  settings: Settings,
  work: (connected: Connected) => Promise<T>,
): Promise<T> {
  const { redis, url } = await reachRedis(settings);
  try {
    const store = await openStore(redis, settings);
    return await work({ redis, url, store, records: new Records(store) });
  } finally {
    redis.disconnect();
  }
}

/** The same with the queues beside it, for the commands that wake somebody up. */
export async function withQueues<T>(
  settings: Settings,
  work: (connected: Connected & { queues: Queues }) => Promise<T>,
): Promise<T> {
  return withRecords(settings, async (connected) => {
    // The commands that only read do without BullMQ and start twice as fast.
    const { Queues } = await import('../producers/index.ts');
    const queues = new Queues(connected.store);
    try {
      return await work({ ...connected, queues });
    } finally {
      await queues.close().catch(() => {});
    }
  });
}

/** The same for what people do to turns and conversations. */
export async function withOperator<T>(
  settings: Settings,
  work: (connected: Connected & { operator: Operator }) => Promise<T>,
): Promise<T> {
  return withQueues(settings, async (connected) => {
    const { Operator } = await import('../producers/operator.ts');
    return work({ ...connected, operator: new Operator(connected) });
  });
}

/** A connection that has answered. @throws CommandError naming what was tried */
export async function reachRedis(settings: Settings): Promise<{ redis: Redis; url: string }> {
  const { url, from } = redisPlace(settings);
  const redis = ingressConnection(url);
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  redis.once('ready', () => resolve());
  redis.once('error', reject);
  const timer = setTimeout(
    () => reject(new Error(`no answer within ${PATIENCE_MS} ms`)),
    PATIENCE_MS,
  );
  try {
    await promise;
    return { redis, url };
  } catch (error) {
    redis.disconnect();
    throw unreachable(url, from, error);
  } finally {
    clearTimeout(timer);
  }
}

function unreachable(url: string, from: string, error: unknown): CommandError {
  const problem = error instanceof Error ? error.message || error.name : String(error);
  return new CommandError(
    {
      code: 'redis_unreachable',
      message: `Redis does not answer at ${maskedUrl(url)} (from ${from}): ${problem.split('\n', 1)[0]}`,
      next:
        'start it (docker compose up redis), point REDIS_URL at one that runs, or unset REDIS_URL and ' +
        'use "turnkeeper up"',
      exitCode: EXIT.tryAgain,
      retryable: true,
    },
    { cause: error },
  );
}

async function openStore(redis: Redis, settings: Settings): Promise<Store> {
  const prefix = settings.TURNKEEPER_PREFIX;
  const stored = await storedLanes(redis, prefix);
  const store = new Store({ redis, prefix, lanes: settings.LANES ?? stored ?? 1 });
  // Fixing the number is the business of the first worker; a command only refuses a wrong one.
  if (stored !== undefined) await store.open();
  return store;
}
