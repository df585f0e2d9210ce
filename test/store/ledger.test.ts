import { describe, expect, test } from 'vitest';
import type { EffectStatus } from '../../src/contracts/index.ts';
import { ticket } from '../support/rig.ts';
import { committing, ended, opened, openStore, reservation, transition } from '../support/store.ts';

async function attempted(status?: EffectStatus) {
  const opening = await openStore();
  await opening.store.acceptMessage(ticket());
  await opening.store.acceptMessage(ticket());
  const turn = await opening.claim();
  await opening.store.record(turn.claim, transition(0), reservation());
  if (status !== undefined) {
    const moves = [{ operation: 'op1', status, outcome: { refund: 7 } }];
    await opening.store.record(turn.claim, { ...transition(1), moves });
  }
  const seq = status === undefined ? 1 : 2;
  /** Ends the turn and claims the one for the second message. */
  const nextTurn = async () => {
    await opening.store.commit(turn.claim, transition(seq, ended), committing(turn.claim));
    const next = await opening.claim();
    return { ...next.claim, intent: 'another purpose' };
  };
  return { ...opening, claim: turn.claim, seq, nextTurn };
}

describe('[P4] [S1-02] [S1-04] [S1-09] [S2-25] the ledger decides whether a write may run', () => {
  test('[P5] the row exists before the call is made', async () => {
    const { records } = await attempted();

    expect(await records.operation('op1')).toMatchObject({ status: 'attempted', attempts: 1 });
  });

  test.each(['attempted', 'applied', 'unknown', 'verified'] as const)(
    '[S1-18] the same action again while it is %s is a duplicate and gets the earlier outcome',
    async (status) => {
      const { store, claim, seq } = await attempted(status === 'attempted' ? undefined : status);

      const again = await store.record(claim, transition(seq), reservation());

      expect(again).toMatchObject({
        kind: 'refused',
        refusal: { refusal: 'duplicate', earlier: { operation: 'op1', status } },
      });
    },
  );

  test.each(['rejected', 'not_landed'] as const)(
    '[S1-10] an operation that was %s may be tried again under the same key',
    async (status) => {
      const { store, claim, seq, records } = await attempted(status);

      const again = await store.record(
        claim,
        transition(seq),
        reservation({ actionHash: 'other' }),
      );

      expect(again.kind).toBe('recorded');
      expect(await records.operation('op1')).toMatchObject({ status: 'attempted', attempts: 2 });
    },
  );

  test('the same operation with other arguments is a conflict, not a second effect', async () => {
    const { store, claim, seq } = await attempted('verified');

    const other = await store.record(claim, transition(seq), reservation({ actionHash: 'other' }));

    expect(other).toMatchObject({
      refusal: { refusal: 'conflict', earlier: { status: 'verified' } },
    });
  });

  test('the same action for another purpose of the conversation is a possible repeat', async () => {
    const { store, nextTurn } = await attempted('verified');
    const claim = await nextTurn();

    const again = await store.record(claim, transition(0), reservation({ operation: 'op2' }));

    expect(again).toMatchObject({
      kind: 'refused',
      refusal: { refusal: 'possible_repeat', earlier: { operation: 'op1', status: 'verified' } },
    });
  });

  test('the same action on another object is no repeat', async () => {
    const { store, nextTurn } = await attempted('verified');
    const claim = await nextTurn();

    const other = reservation({ operation: 'op2', resource: 'order:2' });

    expect((await store.record(claim, transition(0), other)).kind).toBe('recorded');
  });

  test('a further operation may follow a verified one, and no other', async () => {
    const verified = await attempted('verified');
    const open = await attempted('applied');
    const further = reservation({ operation: 'op2', after: 'op1' });

    expect((await verified.store.record(verified.claim, transition(2), further)).kind).toBe(
      'recorded',
    );
    expect(await open.store.record(open.claim, transition(2), further)).toMatchObject({
      refusal: { refusal: 'unknown_predecessor' },
    });
  });

  test('looking first reserves nothing', async () => {
    const { store, claim, records } = await attempted('verified');

    expect(await store.peekEffect(claim, reservation())).toMatchObject({ refusal: 'duplicate' });
    expect(
      await store.peekEffect(claim, reservation({ operation: 'op3', resource: 'r' })),
    ).toBeUndefined();
    expect(await records.operation('op3')).toBeUndefined();
  });

  test('a verified row never moves again', async () => {
    const { store, claim, records } = await attempted('verified');
    const moves = [{ operation: 'op1', status: 'unknown' as const }];

    await store.record(claim, { ...transition(2), moves });

    expect((await records.operation('op1'))?.status).toBe('verified');
  });

  test('[S1-26] [S1-11] what the agent really did in a conversation is one query', async () => {
    const { records } = await attempted('verified');

    expect(await records.ledger('test/c1')).toMatchObject([
      { operation: 'op1', tool: 'issue_refund', status: 'verified', outcome: { refund: 7 } },
    ]);
  });

  test('an unsettled row has no time-out, a settled one is kept a year', async () => {
    const open = await attempted('unknown');
    const done = await attempted('verified');

    expect(await open.redis.pttl(`{${open.prefix}0}:op:op1`)).toBe(-1);
    expect(await done.redis.pttl(`{${done.prefix}0}:op:op1`)).toBeGreaterThan(300 * 86_400_000);
  });
});

test('[P13] nothing is reserved once somebody asked the turn to stop', async () => {
  const { store, redis, prefix, claim, records } = await openStore();
  await store.acceptMessage(ticket());
  const turn = await claim();
  const signal = { cause: 'human_takeover', by: 'ana' };
  await redis.hset(`{${prefix}0}:conv:test/c1`, 'signal', JSON.stringify(signal));

  const recorded = await store.record(turn.claim, transition(0, opened), reservation());

  expect(recorded).toEqual({ kind: 'stopped', signal });
  expect(await records.operation('op1')).toBeUndefined();
});
