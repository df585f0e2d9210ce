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
  redis.on('connect', () => gatherWrites(redis.stream));
  return redis;
}

/** Commands that leave in one write. More would let Redis stand idle while they are gathered. */
const GATHERED = 8;

/**
 * Commands that are sent right after each other leave in one write, as the answers to many turns come in at once: each
 * write is a call of the kernel here and a read in Redis, and together they cost as much as what is written.
 */
function gatherWrites(stream: Redis['stream']): void {
  const write = stream.write.bind(stream) as (...args: unknown[]) => boolean;
  let gathered = 0;
  const flush = (): void => {
    if (gathered === 0) return;
    gathered = 0;
    stream.uncork();
  };
  stream.write = (...args: unknown[]): boolean => {
    if (gathered === 0) {
      stream.cork();
      process.nextTick(flush);
    }
    gathered += 1;
    const hasRoom = write(...args);
    if (gathered === GATHERED) flush();
    return hasRoom;
  };
}

/** For the intake: a caller who waits is told at once that a message could not be stored. */
export function ingressConnection(url: string): Redis {
  return connect(url, {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    commandTimeout: 2_000,
  });
}
