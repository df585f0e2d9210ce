import { expect, test, vi } from 'vitest';
import { key } from '../../src/store/keys.ts';
import { Records } from '../../src/store/records.ts';
import { openStore } from '../support/store.ts';

test('[P13] what we have posted and what is on its way are read at one moment: a reply that is being settled is never neither', async () => {
  const { store, redis } = await openStore();
  const [tag = ''] = store.tags();
  const [outbox, delivery, posted] = [
    key(tag, 'outbox', 'test/c1'),
    key(tag, 'delivery', 'd1'),
    key(tag, 'posted', 'test/c1'),
  ];
  const records = new Records(store);
  const look = () => records.posted('test/c1');

  const nothing = await look();
  await redis.rpush(outbox, 'd1');
  await redis.hset(delivery, 'status', 'sending');
  const asked = vi.spyOn(redis, 'sendCommand');
  const before = await look();
  const asks = asked.mock.calls.length;
  await redis.multi().lpop(outbox).hset(delivery, 'status', 'sent').sadd(posted, 'r1').exec();
  const after = await look();

  expect(nothing).toEqual({ ids: new Set(), sending: false });
  expect(before).toEqual({ ids: new Set(), sending: true });
  expect(after).toEqual({ ids: new Set(['r1']), sending: false });
  expect(asks).toBe(1);
});
