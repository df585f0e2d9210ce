import { Redis, type RedisOptions } from 'ioredis';

type Overrides = Pick<RedisOptions, 'enableOfflineQueue' | 'maxRetriesPerRequest'> & {
  commandTimeout?: number;
};

/** For workers and queues: waits for Redis to come back, however long it takes. */
export function connect(url: string, overrides: Overrides = {}): Redis {
  const redis = new Redis(url, {
    maxRetriesPerRequest: null,
    retryStrategy: (attempt: number) => Math.min(1_000, 50 * 2 ** Math.min(attempt, 5)),
    ...overrides,
  });
  // Each command reports its own failure; the connection comes back by itself.
  redis.on('error', () => {});
  return redis;
}

/** For the intake: a caller who waits is told at once that a message could not be stored. */
export function ingressConnection(url: string): Redis {
  return connect(url, {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    commandTimeout: 2_000,
  });
}
