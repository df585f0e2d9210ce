import type { Redis } from 'ioredis';

/** What a Redis says about itself, as far as the promises depend on it. `undefined`: it does not tell. */
export type RedisFacts = {
  version: string | undefined;
  appendonly: string | undefined;
  appendfsync: string | undefined;
  maxmemoryPolicy: string | undefined;
  hz: number | undefined;
  evictedKeys: number | undefined;
  usedMemory: number | undefined;
  /** 0: no limit. */
  maxMemory: number | undefined;
  /** Redis' clock minus this host's, milliseconds. */
  skewMs: number;
};

export async function readRedisFacts(redis: Redis): Promise<RedisFacts> {
  const info = parseInfo(await redis.info());
  const askedAt = Date.now();
  const [seconds, microseconds] = await redis.time();
  const answeredAt = Date.now();
  const redisAt = Number(seconds) * 1_000 + Math.floor(Number(microseconds) / 1_000);
  const number = (name: string): number | undefined =>
    info.has(name) ? Number(info.get(name)) : undefined;
  const hz = await setting(redis, 'hz');
  return {
    version: info.get('redis_version'),
    appendonly: await setting(redis, 'appendonly'),
    appendfsync: await setting(redis, 'appendfsync'),
    maxmemoryPolicy: await setting(redis, 'maxmemory-policy'),
    hz: hz === undefined ? undefined : Number(hz),
    evictedKeys: number('evicted_keys'),
    usedMemory: number('used_memory'),
    maxMemory: number('maxmemory'),
    skewMs: redisAt - (askedAt + answeredAt) / 2,
  };
}

/** Hosted servers often do not let CONFIG be read. */
async function setting(redis: Redis, name: string): Promise<string | undefined> {
  try {
    const reply: unknown = await redis.config('GET', name);
    if (Array.isArray(reply)) return reply[1] === undefined ? undefined : String(reply[1]);
    return (reply as Record<string, string> | null)?.[name];
  } catch {
    return undefined;
  }
}

function parseInfo(text: string): Map<string, string> {
  return new Map(
    text.split(/\r?\n/).flatMap((line): [string, string][] => {
      const colon = line.indexOf(':');
      return colon === -1 ? [] : [[line.slice(0, colon), line.slice(colon + 1)]];
    }),
  );
}
