import type { Redis } from 'ioredis';
import type { LaneState, RedisState } from '../telemetry/metrics/index.ts';
import { key } from './keys.ts';

/** What a lane holds beside its jobs. Every answer is a count or the head of an index, whatever the backlog. */
export async function laneStanding(
  redis: Redis,
  tag: string,
): Promise<Omit<LaneState, 'lane' | 'jobs'>> {
  const kinds = ['verification', 'approval', 'back_off'] as const;
  const behind = key(tag, 'behind');
  const pipeline = redis.pipeline();
  for (const index of ['due', 'approvals', 'undelivered', 'unclear', 'unknown'] as const) {
    pipeline.zcard(key(tag, index));
  }
  pipeline.zcard(behind);
  for (const kind of kinds) pipeline.zcard(key(tag, 'parked', kind));
  for (const kind of kinds) pipeline.zintercard(2, behind, key(tag, 'parked', kind));
  for (const index of ['due', 'approvals', 'unknown', 'behind'] as const) {
    pipeline.zrange(key(tag, index), '0', '0', 'WITHSCORES');
  }
  const replies = (await pipeline.exec()) ?? [];
  const counts = replies.slice(0, 12).map(([, reply]) => Number(reply));
  const [open = 0, waiting = 0, undelivered = 0, unclear = 0, unknown = 0, blocked = 0] = counts;
  const [verification = 0, approval = 0, backOff = 0] = counts.slice(6, 9);
  const [byVerification = 0, byApproval = 0, byBackOff = 0] = counts.slice(9, 12);
  const [due, firstApproval, oldestUnknown, oldestBehind] = replies
    .slice(12)
    .map(([, reply]) => head(reply));
  const request =
    firstApproval === undefined
      ? null
      : await redis.hget(key(tag, 'approval', firstApproval.id), 'request');
  const asked = request === null ? undefined : (JSON.parse(request) as { requestedAt: number });
  return {
    conversationsOpen: open,
    ...(due === undefined ? {} : { oldestDueAt: due.score }),
    parked: { verification, approval, back_off: backOff },
    blocked: {
      running: Math.max(0, blocked - byVerification - byApproval - byBackOff),
      verification: byVerification,
      approval: byApproval,
      back_off: byBackOff,
    },
    ...(oldestBehind === undefined ? {} : { oldestBlockedAt: oldestBehind.score }),
    approvals: {
      count: waiting,
      ...(asked === undefined ? {} : { oldestAt: asked.requestedAt }),
      ...(firstApproval === undefined ? {} : { nextExpiryAt: firstApproval.score }),
    },
    deliveriesWaiting: undelivered,
    deliveriesUnclear: unclear,
    unknownEffects: {
      count: unknown,
      ...(oldestUnknown === undefined ? {} : { oldestAt: oldestUnknown.score }),
    },
  };
}

/** How Redis itself is. Hosted servers often do not let CONFIG be read; then its settings are left out. */
export async function redisState(redis: Redis): Promise<RedisState> {
  const info = new Map(
    (await redis.info()).split(/\r?\n/).map((line) => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon), line.slice(colon + 1)] as const;
    }),
  );
  const number = (name: string): number => Number(info.get(name) ?? 0);
  const wanted = { appendonly: 'yes', appendfsync: 'always', 'maxmemory-policy': 'noeviction' };
  const settings = await Promise.all(
    Object.entries(wanted).map(async ([name, value]) => {
      const found = await setting(redis, name);
      return found === undefined ? [] : [[name.replace('-', '_'), found === value] as const];
    }),
  );
  return {
    memoryBytes: number('used_memory'),
    memoryLimitBytes: number('maxmemory') || number('total_system_memory'),
    evictedKeys: number('evicted_keys'),
    delayedFsyncs: number('aof_delayed_fsync'),
    clients: number('connected_clients'),
    settings: Object.fromEntries(settings.flat()),
  };
}

async function setting(redis: Redis, name: string): Promise<string | undefined> {
  try {
    const reply: unknown = await redis.config('GET', name);
    if (Array.isArray(reply)) return reply[1] === undefined ? undefined : String(reply[1]);
    return (reply as Record<string, string> | null)?.[name];
  } catch {
    return undefined;
  }
}

/** First member and score of a sorted set, as RESP2 and RESP3 tell it. */
function head(reply: unknown): { id: string; score: number } | undefined {
  const [id, score] = (reply as (string | number | (string | number)[])[]).flat();
  return id === undefined ? undefined : { id: String(id), score: Number(score) };
}
