import { describe, expect, test } from 'vitest';
import { LostClaimError } from '../../src/loop/index.ts';
import { ticket } from '../support/rig.ts';
import { committing, ended, opened, openStore, reservation, transition } from '../support/store.ts';
import { parked } from '../support/turn-events.ts';

const park = { number: 1, kind: 'verification', dueAt: 1 } as const;

async function overtaken() {
  const opening = await openStore();
  await opening.store.acceptMessage(ticket());
  const old = await opening.claim();
  const current = await opening.claim();
  return { ...opening, old: old.claim, current: current.claim };
}

describe('[P11] a worker whose claim was taken over changes nothing', () => {
  test('neither the turn nor the ledger', async () => {
    const { store, old, current, records } = await overtaken();

    await expect(store.record(old, transition(0), reservation())).rejects.toThrow(LostClaimError);

    expect(await records.operation('op1')).toBeUndefined();
    expect((await records.turn(current.turnId))?.events).toEqual([]);
  });

  test('nor the approval or the deliveries that a park would write', async () => {
    const { store, old, records } = await overtaken();
    const delivery = { id: 'd1', kind: 'holding', text: 'wait', turnId: old.turnId } as const;

    await expect(
      store.park(old, transition(0, opened, parked('approval')), { park, deliveries: [delivery] }),
    ).rejects.toThrow(LostClaimError);

    expect(await records.delivery(old.conversationId, 'd1')).toBeUndefined();
  });

  test('nor the history, the mailbox and the replies', async () => {
    const { store, old, current } = await overtaken();

    await expect(store.commit(old, transition(0, opened, ended), committing(old))).rejects.toThrow(
      LostClaimError,
    );

    const committed = await store.commit(
      current,
      transition(0, opened, ended),
      committing(current),
    );
    expect(committed).toMatchObject({ waiting: 0 });
  });

  test('a claim is told apart by its nonce, not by its number alone', async () => {
    const { store, current } = await overtaken();
    const [epoch] = current.token.split('-');

    const forged = { ...current, token: `${epoch}-other` };

    await expect(store.record(forged, transition(0))).rejects.toThrow(LostClaimError);
  });
});

describe('a step whose answer was lost may be repeated', () => {
  async function fresh() {
    const opening = await openStore();
    await opening.store.acceptMessage(ticket());
    await opening.store.acceptMessage(ticket({ text: 'second' }));
    return { ...opening, turn: await opening.claim() };
  }

  test('the same claim again is the same claim', async () => {
    const { store } = await openStore();
    await store.acceptMessage(ticket());
    const claimer = { jobId: 'j', workerId: 'w', nonce: 'n1' };

    const first = await store.claimTurn('test/c1', claimer);
    const again = await store.claimTurn('test/c1', claimer);

    expect(again).toEqual(first);
  });

  test('recording a transition and reserving an effect', async () => {
    const { store, turn, records } = await fresh();

    const first = await store.record(turn.claim, transition(0), reservation());
    const again = await store.record(turn.claim, transition(0), reservation());

    expect([first.kind, again.kind]).toEqual(['recorded', 'recorded']);
    expect((await records.turn(turn.claim.turnId))?.events).toHaveLength(1);
    expect((await records.operation('op1'))?.attempts).toBe(1);
  });

  test('parking', async () => {
    const { store, turn, records } = await fresh();
    const step = transition(0, opened);

    await store.park(turn.claim, step, { park, deliveries: [] });
    await store.park(turn.claim, step, { park, deliveries: [] });

    expect((await records.turn(turn.claim.turnId))?.events).toHaveLength(1);
  });

  test('committing: one message leaves the mailbox, one reply is queued, the history grows by one', async () => {
    const { store, turn, claim, redis, prefix } = await fresh();
    const step = transition(0, opened, ended);

    const first = await store.commit(turn.claim, step, committing(turn.claim));
    const again = await store.commit(turn.claim, step, committing(turn.claim));

    expect([first, again]).toMatchObject([{ waiting: 1 }, { waiting: 1 }]);
    expect(await redis.llen(`{${prefix}0}:outbox:test/c1`)).toBe(1);
    const next = await claim();
    expect(next.messages[0]?.text).toBe('second');
    expect(next.history).toHaveLength(1);
  });

  test('settling a delivery', async () => {
    const { store, turn } = await fresh();
    await store.commit(turn.claim, transition(0, opened, ended), committing(turn.claim));
    const claimed = await store.claimDelivery('test/c1', 't1', 1_000);
    if (claimed.kind !== 'send') throw new Error(claimed.kind);
    const settle = () =>
      store.settleDelivery('test/c1', claimed.delivery.id, 't1', { status: 'sent', targetId: '7' });

    expect(await settle()).toEqual({ left: 0 });
    expect(await settle()).toEqual({ left: 0 });
  });
});
