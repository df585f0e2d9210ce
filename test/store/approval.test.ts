import { expect, test } from 'vitest';
import { ticket } from '../support/rig.ts';
import { committing, ended, opened, openStore, transition } from '../support/store.ts';
import { parked } from '../support/turn-events.ts';

async function asking(expiresInMs = 60_000) {
  const opening = await openStore();
  await opening.store.acceptMessage(ticket());
  const { claim } = await opening.claim();
  const dueAt = Date.now() + expiresInMs;
  const approval = {
    id: 'a1',
    conversationId: claim.conversationId,
    turnId: claim.turnId,
    callId: '1.1',
    tool: 'issue_refund',
    arguments: { orderId: '1', amount: 74_000 },
    actionHash: 'h',
    operation: 'op1',
    reason: 'above the limit',
    seen: { status: 'cancelled' },
    requestedAt: Date.now(),
    expiresAt: dueAt,
  };
  const park = { number: 1, kind: 'approval', dueAt, callId: '1.1', approvalId: 'a1' } as const;
  await opening.store.park(claim, transition(0, opened, parked('approval')), {
    park,
    approval,
    deliveries: [],
  });
  return { ...opening, turn: claim, dueAt };
}

test('an approval is decided once; everybody else is told who did and when', async () => {
  const { store, records } = await asking();

  const answers = await Promise.all(
    ['ana', 'bob', 'cem'].map((by, index) =>
      store.decideApproval('a1', index === 1 ? 'rejected' : 'approved', by),
    ),
  );

  const winner = answers.find((answer) => answer.kind === 'decided');
  expect(answers.filter((answer) => answer.kind === 'decided')).toHaveLength(1);
  const told = answers.map((answer) => 'status' in answer && [answer.status, answer.by]);
  expect(new Set(told.map(String)).size).toBe(1);
  expect(winner).toMatchObject({ turnId: expect.any(String) });
  expect(await records.approval('a1')).toMatchObject({
    status: winner && 'status' in winner ? winner.status : '',
  });
});

test('around the expiry no approver is told anything else than what the turn will see', async () => {
  const { store, records, clock, dueAt } = await asking();
  clock.offsetMs = dueAt - Date.now() - 20;

  const answers = [];
  for (let index = 0; index < 40; index += 1) {
    clock.offsetMs += 1;
    answers.push(
      await store.decideApproval('a1', index % 2 === 0 ? 'expired' : 'rejected', `p${index}`),
    );
  }

  const seen = await records.approval('a1');
  for (const answer of answers) {
    if ('status' in answer)
      expect([answer.status, answer.by]).toEqual([
        seen?.status,
        seen && 'by' in seen ? seen.by : '',
      ]);
  }
});

test('a yes that comes after the expiry is told that it expired', async () => {
  const { store, clock } = await asking();
  clock.offsetMs = 61_000;

  expect(await store.decideApproval('a1', 'approved', 'ana')).toMatchObject({
    kind: 'decided',
    status: 'expired',
    by: 'clock',
  });
});

test('the clock cannot expire an approval before its time', async () => {
  const { store } = await asking();

  expect((await store.decideApproval('a1', 'expired', 'clock')).kind).toBe('not_due');
});

test('an approval nobody knows is not found', async () => {
  const { store } = await openStore();

  expect(await store.decideApproval('nope', 'approved', 'ana')).toEqual({ kind: 'not_found' });
});

test('[P2] a parked turn is handed only to the job that waits for it, until it is woken', async () => {
  const { store } = await asking();
  const other = { jobId: 'another', workerId: 'w2' };

  expect((await store.claimTurn('test/c1', other)).kind).toBe('parked');
  await store.decideApproval('a1', 'approved', 'ana');
  expect((await store.claimTurn('test/c1', other)).kind).toBe('claimed');
});

test('[P1] a turn that goes back to waiting for an answer that has come meanwhile is woken again', async () => {
  const { store, claim } = await asking();
  const { claim: again, park, approval } = await claim('test/c1', 'job1');
  if (park === undefined || approval?.status !== 'pending') throw new Error('not asking');
  await store.decideApproval('a1', 'approved', 'ana');

  const { status: _status, ...request } = approval;
  await store.park(again, transition(2, parked('approval')), {
    park,
    approval: request,
    deliveries: [],
  });

  const [tag = ''] = store.tags();
  expect(await store.takeDue(tag, 10, 1_000)).toEqual([
    { kind: 'turn', conversationId: 'test/c1' },
  ]);
  expect((await store.claimTurn('test/c1', { jobId: 'another', workerId: 'w2' })).kind).toBe(
    'claimed',
  );
});

test('an approval still open when its turn ends is cancelled and no longer listed', async () => {
  const { store, records, claim } = await asking();
  const turn = await claim('test/c1', 'job1');

  await store.commit(turn.claim, transition(2, ended), committing(turn.claim));

  expect(await records.pendingApprovals()).toEqual([]);
  expect((await records.approval('a1'))?.status).toBe('cancelled');
});

test('a verdict for an earlier park is refused', async () => {
  const { store, turn } = await asking();
  const read = { verdict: 'landed', at: 1, latencyMs: 1 } as const;
  const waiting = { conversationId: turn.conversationId, turnId: turn.turnId };

  expect(await store.recordVerdict({ ...waiting, park: 2 }, 1, read, false)).toBe('stale');
  expect(await store.recordVerdict({ ...waiting, park: 1 }, 1, read, false)).toBe('stale');
});
