import { expect, test } from 'vitest';
import { ticket } from '../support/rig.ts';
import { broken } from '../support/turn-events.ts';
import { committing, ended, opened, openStore, transition } from '../support/store.ts';

const DAY_MS = 86_400_000;

async function answered(options: Parameters<typeof openStore>[0] = {}) {
  const opening = await openStore(options);
  const answer = async (conversationId: string): Promise<string> => {
    await opening.store.acceptMessage(ticket({ conversationId }));
    const { claim } = await opening.claim(`test/${conversationId}`);
    await opening.store.commit(claim, transition(0, opened, broken, ended), committing(claim));
    const delivery = await opening.store.claimDelivery(claim.conversationId, 't', 1_000);
    if (delivery.kind !== 'send') throw new Error(delivery.kind);
    await opening.store.settleDelivery(claim.conversationId, delivery.delivery.id, 't', {
      status: 'sent',
      targetId: '1',
    });
    return claim.turnId;
  };
  const [tag = ''] = opening.store.tags();
  const prune = () => opening.store.takeDue(tag, 100, 1_000);
  const keys = (kind: string) => opening.redis.keys(`*${opening.prefix}*:${kind}:*`);
  return { ...opening, answer, prune, keys };
}

test('the record of an ended turn is dropped after its time, not before', async () => {
  const { answer, prune, clock, records } = await answered();
  const turnId = await answer('a');

  clock.offsetMs = 29 * DAY_MS;
  await prune();
  expect(await records.turn(turnId)).toBeDefined();
  clock.offsetMs = 31 * DAY_MS;
  await prune();
  expect(await records.turn(turnId)).toBeUndefined();
});

test('of too many ended turns the oldest are dropped', async () => {
  const { answer, prune, clock, records } = await answered({ retention: { turnsKept: 2 } });
  const turns: string[] = [];
  for (const name of ['a', 'b', 'c']) {
    turns.push(await answer(name));
    clock.offsetMs += 1_000;
  }

  await prune();

  const kept = await Promise.all(turns.map(async (id) => (await records.turn(id)) !== undefined));
  expect(kept).toEqual([false, true, true]);
});

test('what a conversation remembers goes when it has been quiet long enough', async () => {
  const { answer, prune, clock, keys } = await answered();
  await answer('a');

  clock.offsetMs = 91 * DAY_MS;
  await prune();

  expect([...(await keys('conv')), ...(await keys('hist'))]).toEqual([]);
});

test('[P1] a conversation in which somebody waits loses nothing, however old it is', async () => {
  const { answer, prune, clock, store, claim } = await answered();
  await answer('a');
  await store.acceptMessage(ticket({ conversationId: 'a', text: 'still here?' }));

  clock.offsetMs = 91 * DAY_MS;
  await prune();

  const turn = await claim('test/a');
  expect(turn.messages[0]?.text).toBe('still here?');
  expect(turn.history).toHaveLength(1);
});
