import { describe, expect, test } from 'vitest';
import type { View } from '../../src/loop/index.ts';
import type { ScriptedAnswer } from '../../src/models/index.ts';
import { Shop } from '../support/shop.ts';
import { APPROVAL, writeOlderTurn, type OlderPhase } from './older-record.ts';
import { cancellationWhen, DAY, HOUR, openShop, Time, type ShopOptions } from './waiting-shop.ts';

/** A turn that waits for a person, under a clock that can be moved. */
async function waitingForPerson(options: ShopOptions = {}) {
  const time = new Time();
  const stage = await openShop({ approvalLimits: { EUR: 0 }, store: time.store, ...options });
  const host = await stage.startHost();
  await stage.say('cancel my order');
  await stage.parked();
  const [approval] = await stage.records.pendingApprovals();
  if (approval === undefined) throw new Error('nobody was asked');
  const approve = (id: string, by = 'ana') => stage.operator.decideApproval(id, 'approved', { by });
  return { ...stage, time, host, approval, approve };
}

describe('[S0-51] a wait of a day', () => {
  test('is no work for anybody: the approval of the next morning lets the frozen action run', async () => {
    const { time, store, queues, approval, approve, target, refunds, turns, views } =
      await waitingForPerson();
    const asked = views.length;

    await time.pass({ store, queues }, DAY - HOUR);
    const answer = await approve(approval.id);
    await target.arrived('reply', 1);

    expect(answer).toMatchObject({ kind: 'decided', status: 'approved' });
    expect(refunds()).toHaveLength(1);
    expect(views).toHaveLength(asked + 1);
    const [turn] = await turns();
    // Waiting for a person is not the turn's own time: its ten minutes are far from over.
    expect(turn?.reason).toBe('replied');
    expect(turn?.state.personWaitMs).toBeGreaterThanOrEqual(DAY - HOUR - 60_000);
  });

  test('ends by itself: whoever approves a minute later is told that it expired, as the turn sees it', async () => {
    const { time, store, queues, approval, approve, target, refunds, turns } =
      await waitingForPerson();

    await time.pass({ store, queues }, DAY + 60_000);
    const late = await approve(approval.id);
    await target.arrived('note', 1);

    expect(late).toMatchObject({ status: 'expired', by: 'clock' });
    expect((await turns())[0]).toMatchObject({ outcome: 'escalated', reason: 'approval_expired' });
    expect(refunds()).toEqual([]);
    expect((await approve(approval.id)).kind).toBe('already');
  });

  test('for a re-read is one promotion, and the change that has landed meanwhile is taken in', async () => {
    const time = new Time();
    const world = { landed: false };
    const stage = await openShop({
      changed: cancellationWhen(() => world.landed),
      limits: { deadlineMs: 10 * DAY },
      store: time.store,
    });
    await stage.startHost();
    await stage.say('cancel my order');
    await stage.parked();

    world.landed = true;
    await time.pass(stage, DAY);
    await stage.target.arrived('reply', 1);

    expect(stage.shop.calls.filter((call) => call === 'cancel 1')).toHaveLength(1);
    expect(stage.refunds()).toHaveLength(1);
  });

  test('[P8] a change that lands after the deadline of the turn is on record as done, and nothing more is begun', async () => {
    const time = new Time();
    const world = { landed: false };
    const stage = await openShop({
      changed: cancellationWhen(() => world.landed),
      store: time.store,
    });
    await stage.startHost();
    await stage.say('cancel my order');
    await stage.parked();

    world.landed = true;
    await time.pass(stage, HOUR + 1);
    await stage.target.arrived('note', 1);

    expect((await stage.turns())[0]).toMatchObject({ outcome: 'timed_out', reason: 'deadline' });
    expect(await stage.records.ledger('test/c1')).toMatchObject([{ status: 'verified' }]);
    expect(stage.target.of('note')[0]).toContain('Done: cancel_order order:1 verified');
    expect(stage.refunds()).toEqual([]);
  });
});

describe('[P7] a world that has changed while a person was asked', () => {
  test('asks again with what it looks like now; only the second yes pays, once', async () => {
    const { shop, approval, approve, records, target, refunds, parked } = await waitingForPerson();
    const order = shop.orders.get('1');
    if (order === undefined) throw new Error('no order');
    order.version += 1;

    await approve(approval.id);
    let next = await parked();
    while (next.park.approvalId === approval.id) next = await parked();
    const paidBefore = refunds().length;
    const asked = await records.approval(next.park.approvalId ?? '');
    await approve(next.park.approvalId ?? '', 'bob');
    await target.arrived('reply', 1);

    expect(paidBefore).toBe(0);
    expect(asked).toMatchObject({
      arguments: approval.arguments,
      seen: { version: order.version },
    });
    expect(refunds()).toHaveLength(1);
    expect(target.of('holding')).toHaveLength(1);
  });

  test('so that the action is not allowed any more runs nothing, whoever agreed', async () => {
    const { shop, approval, approve, target, refunds } = await waitingForPerson({
      // Whose order it is, is asked anew.
      changed: { issue_refund: { authorize: () => denial.now } },
    });
    const order = shop.orders.get('1');
    if (order === undefined) throw new Error('no order');
    denial.now = { code: 'account_closed', message: 'the account was closed.' };

    await approve(approval.id);
    await target.arrived('note', 1);
    denial.now = undefined;

    expect(refunds()).toEqual([]);
  });
});
const denial: { now: { code: string; message: string } | undefined } = { now: undefined };

describe('[S0-51] a turn that an earlier version had written is gone on with by this one', () => {
  const policy = (view: View): ScriptedAnswer => {
    const refunded = view.effects.some(({ status }) => status === 'verified');
    if (refunded) return { kind: 'finish_candidate', reply: 'Refunded.' };
    // It has the order from the older record, and has not asked for the refund yet.
    return view.rounds.length === 1
      ? {
          kind: 'tool_calls',
          calls: [{ id: 'c1', tool: 'issue_refund', arguments: { orderId: '1', amount: 2_000 } }],
        }
      : { kind: 'escalate', rationale: 'not refunded' };
  };
  async function older(phase: OlderPhase, limit = 0) {
    const shop = new Shop();
    shop.add({ id: '1', status: 'cancelled' });
    const stage = await openShop({ shop, policy, approvalLimits: { EUR: limit } });
    const written = await writeOlderTurn(stage, phase);
    return { ...stage, ...written };
  }

  test('waiting for a person: a yes without a version of the policy is asked for once more, then the frozen action runs', async () => {
    const { operator, startHost, parked, records, target, refunds, turnId, queues } =
      await older('awaiting_approval');
    await startHost();
    const listed = await records.pendingApprovals();

    const answer = await operator.decideApproval(APPROVAL, 'approved', { by: 'ana' });
    await queues.poke('turns', 'test/c1');
    const again = await parked();
    const asked = await records.approval(again.park.approvalId ?? '');
    await operator.decideApproval(again.park.approvalId ?? '', 'approved', { by: 'ana' });
    await target.arrived('reply', 1);

    expect(listed).toMatchObject([{ id: APPROVAL, arguments: { orderId: '1', amount: 2_000 } }]);
    expect(answer).toMatchObject({ kind: 'decided', status: 'approved', turnId });
    expect(again).toMatchObject({ turnId, park: { number: 2 } });
    expect(asked).toMatchObject({ arguments: { orderId: '1', amount: 2_000 } });
    expect(asked?.policy).toBeTypeOf('string');
    expect(refunds()).toMatchObject([{ amount: 2_000 }]);
  });

  test('waiting for a person: a no ends it as before', async () => {
    const { operator, startHost, target, refunds, turns, queues } =
      await older('awaiting_approval');
    await startHost();

    await operator.decideApproval(APPROVAL, 'rejected', { by: 'ana', comment: 'no' });
    await queues.poke('turns', 'test/c1');
    await target.arrived('note', 1);

    expect((await turns())[0]).toMatchObject({ reason: 'approval_rejected' });
    expect(refunds()).toEqual([]);
  });

  test('waiting for a person: it can be cancelled and taken over', async () => {
    const cancelled = await older('awaiting_approval');
    await cancelled.startHost();
    await cancelled.operator.cancel(cancelled.turnId, { by: 'ana', reason: 'old' });
    await cancelled.queues.poke('turns', 'test/c1');
    await cancelled.target.arrived('note', 1);

    expect((await cancelled.turns())[0]).toMatchObject({ outcome: 'cancelled' });
    expect((await cancelled.records.approval(APPROVAL))?.status).toBe('cancelled');
  });

  test.each(['requesting_model', 'backing_off'] as const)(
    '%s: the model is asked with what the older record holds, and nothing is read or paid twice',
    async (phase) => {
      const { startHost, target, shop, views, turns, turnId } = await older(phase, 5_000);
      await startHost();
      await target.arrived('reply', 1);

      const [turn] = await turns();
      expect(turn).toMatchObject({ turnId, reason: 'replied' });
      expect(views.map(({ rounds }) => rounds.length)).toEqual([1, 2]);
      expect(views[0]?.facts['order:1']).toMatchObject({ data: { status: 'cancelled' } });
      // One read is the record's own.
      expect(shop.calls.filter((call) => call === 'get 1')).toHaveLength(1);
      expect(shop.effects).toMatchObject([{ kind: 'refund', amount: 2_000 }]);
      // What the lost call may have used is paid at its estimate.
      expect(turn?.state.spent.tokens).toBeGreaterThanOrEqual(phase === 'backing_off' ? 120 : 420);
    },
  );

  test('[P4] in the middle of a call: its effect is read again and not sent a second time', async () => {
    const { startHost, target, shop, records, operation, queues } = await older('running_tools');
    // The call had reached the shop.
    shop.effects.push({
      ...{ kind: 'refund', orderId: '1', operation, amount: 2_000, statusThen: 'cancelled' },
    });
    await startHost();
    await queues.poke('turns', 'test/c1');
    await target.arrived('reply', 1);

    expect(shop.effects).toHaveLength(1);
    expect(shop.calls).not.toContain('refund 1');
    expect(await records.operation(operation)).toMatchObject({ status: 'verified', attempts: 1 });
  });

  test('[P4] waiting for a re-read that is overdue: the reconciler finds it, and the turn goes on', async () => {
    const { startHost, target, shop, records, operation } = await older('awaiting_verification');
    shop.effects.push({
      ...{ kind: 'refund', orderId: '1', operation, amount: 2_000, statusThen: 'cancelled' },
    });
    await startHost();
    await target.arrived('reply', 1);

    expect(shop.calls).not.toContain('refund 1');
    expect(await records.operation(operation)).toMatchObject({ status: 'verified' });
  });
});
