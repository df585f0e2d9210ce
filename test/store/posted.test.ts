import type { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { Records } from '../../src/store/records.ts';
import { Store } from '../../src/store/index.ts';
import { key } from '../../src/store/keys.ts';
import { openStore } from '../support/store.ts';

test('[P13] a reply that is settled while somebody asks what we have posted is either on its way or posted, never neither', async () => {
  const { store, redis, prefix } = await openStore();
  const [tag = ''] = store.tags();
  const [outbox, delivery, posted] = [
    key(tag, 'outbox', 'test/c1'),
    key(tag, 'delivery', 'd1'),
    key(tag, 'posted', 'test/c1'),
  ];
  for (let before = 0; before < 4; before += 1) {
    await redis.del(outbox, delivery, posted);
    await redis.rpush(outbox, 'd1');
    await redis.hset(delivery, 'status', 'sending');
    const settle = async (): Promise<void> => {
      await redis.multi().lpop(outbox).hset(delivery, 'status', 'sent').sadd(posted, 'r1').exec();
    };

    const { ids, sending } = await new Records(
      new Store({ redis: interrupted(redis, before, settle), prefix }),
    ).posted('test/c1');

    expect(sending || ids.has('r1'), `settled before read ${before + 1}`).toBe(true);
  }
});

/** A connection on which something happens right before the n-th read, counted from 0. */
function interrupted(redis: Redis, before: number, happens: () => Promise<void>): Redis {
  let reads = 0;
  let last: Promise<unknown> = Promise.resolve();
  return new Proxy(redis, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      const bound = value.bind(target) as (...args: unknown[]) => unknown;
      if (!['lindex', 'hget', 'smembers'].includes(String(name))) return bound;
      return (...args: unknown[]) => {
        const at = reads++;
        last = last.then(() => (at === before ? happens() : undefined)).then(() => bound(...args));
        return last;
      };
    },
  });
}
