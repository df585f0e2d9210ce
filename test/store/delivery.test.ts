import { expect, test } from 'vitest';
import { LostClaimError } from '../../src/loop/index.ts';
import { ticket } from '../support/rig.ts';
import { committing, ended, opened, openStore, transition } from '../support/store.ts';

async function replying(count = 1) {
  const opening = await openStore();
  for (let index = 0; index < count; index += 1) await opening.store.acceptMessage(ticket());
  for (let index = 0; index < count; index += 1) {
    const { claim } = await opening.claim();
    await opening.store.commit(claim, transition(0, opened, ended), committing(claim));
  }
  return opening;
}
const SEND_MS = 1_000;

test('[P14] while one worker sends, another one waits', async () => {
  const { store } = await replying();
  await store.claimDelivery('test/c1', 'first', SEND_MS);

  expect((await store.claimDelivery('test/c1', 'second', SEND_MS)).kind).toBe('wait');
});

test('[P14] after a lost worker the target is re-read before anything is sent again', async () => {
  const { store, clock } = await replying();
  await store.claimDelivery('test/c1', 'first', SEND_MS);
  clock.offsetMs = SEND_MS + 5;

  const next = await store.claimDelivery('test/c1', 'second', SEND_MS);

  expect(next.kind).toBe('recheck');
});

test('[P14] a claim whose answer was lost is told the same again: to look first', async () => {
  const { store, clock } = await replying();
  await store.claimDelivery('test/c1', 'first', SEND_MS);
  clock.offsetMs = SEND_MS + 5;

  const told = await store.claimDelivery('test/c1', 'second', SEND_MS);
  const again = await store.claimDelivery('test/c1', 'second', SEND_MS);

  expect(told.kind).toBe('recheck');
  expect(again).toEqual(told);
});

test('[P11] the late worker cannot settle what another one has taken over', async () => {
  const { store, clock } = await replying();
  const first = await store.claimDelivery('test/c1', 'first', SEND_MS);
  if (first.kind !== 'send') throw new Error(first.kind);
  clock.offsetMs = SEND_MS + 5;
  await store.claimDelivery('test/c1', 'second', SEND_MS);

  await expect(
    store.settleDelivery('test/c1', first.delivery.id, 'first', { status: 'sent', targetId: '1' }),
  ).rejects.toThrow(LostClaimError);
});

test('replies of a conversation go out in the order of their turns', async () => {
  const { store } = await replying(3);
  const turns: string[] = [];
  for (let index = 0; index < 3; index += 1) {
    const claim = await store.claimDelivery('test/c1', 't', SEND_MS);
    if (claim.kind !== 'send') throw new Error(claim.kind);
    turns.push(claim.delivery.turnId);
    await store.settleDelivery('test/c1', claim.delivery.id, 't', { status: 'sent', targetId: '' });
  }

  expect((await store.claimDelivery('test/c1', 't', SEND_MS)).kind).toBe('empty');
  expect(new Set(turns).size).toBe(3);
});

test('a send that certainly failed is tried again, not before its time', async () => {
  const { store, clock } = await replying();
  const claim = await store.claimDelivery('test/c1', 't', SEND_MS);
  if (claim.kind !== 'send') throw new Error(claim.kind);
  const notBefore = store.clock().now() + 500;
  await store.settleDelivery('test/c1', claim.delivery.id, 't', {
    status: 'pending',
    reason: 'down',
    notBefore,
  });

  expect((await store.claimDelivery('test/c1', 'u', SEND_MS)).kind).toBe('wait');
  clock.offsetMs = 600;
  expect(await store.claimDelivery('test/c1', 'u', SEND_MS)).toMatchObject({
    kind: 'send',
    attempts: 2,
  });
});

test('[P1] an unclear delivery is shown to an operator and does not hold up the next one', async () => {
  const { store, redis, prefix } = await replying(2);
  const claim = await store.claimDelivery('test/c1', 't', SEND_MS);
  if (claim.kind !== 'send') throw new Error(claim.kind);

  await store.settleDelivery('test/c1', claim.delivery.id, 't', {
    status: 'unknown',
    reason: 'refused',
  });

  expect(await redis.zrange(`{${prefix}0}:unclear`, '0', '-1')).toEqual([claim.delivery.id]);
  expect((await store.claimDelivery('test/c1', 't', SEND_MS)).kind).toBe('send');
});
