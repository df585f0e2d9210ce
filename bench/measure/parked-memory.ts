import type { Redis } from 'ioredis';
import { concurrently } from '../rig/concurrently.ts';
import { Pipeline } from '../rig/pipeline.ts';
import type { BenchRedis } from '../rig/redis.ts';
import { CLIENTS, CONCURRENCY } from '../rig/settings.ts';
import { benchAgent, tickets } from '../rig/workload.ts';

export type ParkedMemory = {
  /** What one more parked turn adds to Redis' memory: mailbox, record, ledger, indexes and BullMQ's jobs. */
  bytesPerTurn: number;
  /** The part of it that lies in keys, by kind of key. */
  byKind: Readonly<Record<string, number>>;
};

const TEXT_LENGTH = 1_024;
/** Turns parked before the count starts: indexes have left their compact form, scripts are loaded. */
const ALREADY_PARKED = 300;

/** Parks turns of one message of 1 KB each, after a write whose first re-read was not conclusive. */
export async function measureParkedMemory(redis: BenchRedis, turns: number): Promise<ParkedMemory> {
  await redis.empty();
  const pipeline = await Pipeline.open({
    ...{ redisUrl: redis.url, prefix: 'parked-', agent: benchAgent('stay-parked') },
    ...{ concurrency: CONCURRENCY, duties: 'turns' },
  });
  await pipeline.startWorkers();
  const park = async (firstConversation: number, count: number): Promise<void> => {
    const messages = tickets('stay-parked', count, 1, {
      textLength: TEXT_LENGTH,
      firstConversation,
    });
    await concurrently(messages, CLIENTS, (ticket) => pipeline.accept(ticket));
    await pipeline.store.parked.reached(firstConversation + count);
    const [tag = ''] = pipeline.store.tags();
    while ((await redis.client.zcard(`${tag}:turns:waiting-children`)) < firstConversation + count);
  };
  await park(0, ALREADY_PARKED);
  const before = { used: await settledMemory(redis), keys: await memoryByKind(redis.client) };
  await park(ALREADY_PARKED, turns);
  const after = { used: await settledMemory(redis), keys: await memoryByKind(redis.client) };
  await pipeline.close();
  const byKind = [...after.keys].map(([kind, bytes]): [string, number] => {
    return [kind, Math.round((bytes - (before.keys.get(kind) ?? 0)) / turns)];
  });
  return {
    bytesPerTurn: Math.round((after.used - before.used) / turns),
    byKind: Object.fromEntries(byKind.toSorted((a, b) => b[1] - a[1])),
  };
}

/** Redis' memory once it no longer changes: buffers of clients come and go. */
async function settledMemory(redis: BenchRedis): Promise<number> {
  let last = 0;
  for (let same = 0; same < 3;) {
    const used = await redis.info('memory', 'used_memory');
    same = Math.abs(used - last) < 1_024 ? same + 1 : 0;
    last = used;
  }
  return last;
}

async function memoryByKind(client: Redis): Promise<Map<string, number>> {
  const bytes = new Map<string, number>();
  for await (const keys of client.scanStream({ count: 500 }) as AsyncIterable<string[]>) {
    const sizes = await Promise.all(keys.map((name) => client.memory('USAGE', name, 'SAMPLES', 0)));
    for (const [index, name] of keys.entries()) {
      const kind = kindOf(name);
      bytes.set(kind, (bytes.get(kind) ?? 0) + (sizes[index] ?? 0));
    }
  }
  return bytes;
}

const OF_A_QUEUE = /^[^:]+:(turns|verifications|approvals|deliveries)(?::(\D[^:]*$|de:)|:|$)/;

/** `{tk0}:turn:…` is a `turn`; of BullMQ's keys, the queue and whether it is a job or which index it is. */
function kindOf(name: string): string {
  const queue = OF_A_QUEUE.exec(name);
  if (queue === null) return name.split(':')[1] ?? name;
  const rest = name.split(':').slice(2);
  const [part = ''] = rest;
  const isIndex = /^[a-z-]{2,20}$/.test(part);
  if (!isIndex) return `bullmq ${queue[1]} job${rest.length > 1 ? ` ${rest.at(-1)}` : ''}`;
  return `bullmq ${queue[1]} ${part}`;
}
