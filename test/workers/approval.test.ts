import { describe, expect, test } from 'vitest';
import type { View } from '../../src/loop/index.ts';
import { scriptedModel } from '../../src/models/index.ts';
import { startRig, ticket, type RigOptions } from '../support/rig.ts';
import { Shop, shopTools } from '../support/shop.ts';
import { cancelThenRefund } from '../support/cancel-then-refund.ts';

/** A turn that waits for a person to agree to a refund of 20.00 where nothing is free. */
async function waitingForPerson(options: Partial<RigOptions> = {}) {
  const shop = new Shop();
  shop.add({ id: '1' });
  const views: View[] = [];
  const rig = await startRig({
    model: scriptedModel((view) => {
      views.push(view);
      return cancelThenRefund(view);
    }),
    tools: shopTools(shop),
    approvalLimits: { EUR: 0 },
    ...options,
  });
  const host = await rig.startHost();
  await rig.accept(ticket());
  await rig.target.arrived('holding', 1);
  const [approval] = await rig.records.pendingApprovals();
  if (approval === undefined) throw new Error('nothing waits');
  const decide = async (decision: 'approved' | 'rejected' | 'expired', by = 'ana') => {
    const answer = await rig.store.decideApproval(approval.id, decision, by);
    const parked = await rig.store.parkedTurn('test/c1');
    if (parked !== undefined) {
      const { turnId, park } = parked;
      await rig.queues.hurry({ conversationId: 'test/c1', turnId, park: park.number }, park.kind);
    }
    return answer;
  };
  const refunds = () => shop.effects.filter(({ kind }) => kind === 'refund');
  return { shop, rig, host, views, approval, decide, refunds };
}

describe('an action above the limit', () => {
  test('[S0-15] [S2-10] [S2-26] [S0-39] is not run; the person sees the frozen arguments and the state of the world', async () => {
    const { approval, refunds, rig } = await waitingForPerson();

    expect(refunds()).toEqual([]);
    expect(approval).toMatchObject({
      tool: 'issue_refund',
      arguments: { orderId: '1', amount: 2_000 },
      seen: { status: 'cancelled' },
      reason: 'refund 2000 is above the limit of 0.00 EUR',
    });
    expect(rig.target.of('holding')).toHaveLength(1);
  });

  test('[S2-12] [S0-37] approved: the frozen action runs without another model call, and is verified', async () => {
    const { rig, views, decide, refunds } = await waitingForPerson();
    const askedBefore = views.length;

    await decide('approved');
    await rig.target.arrived('reply', 1);

    expect(refunds()).toMatchObject([{ amount: 2_000, statusThen: 'cancelled' }]);
    expect(views.length).toBe(askedBefore + 1);
    expect((await rig.records.ledger('test/c1')).at(-1)).toMatchObject({ status: 'verified' });
    expect(rig.target.of('holding')).toHaveLength(1);
  });

  test('rejected: nothing is paid and people take over', async () => {
    const { rig, decide, refunds } = await waitingForPerson();

    await decide('rejected');
    await rig.target.arrived('note', 1);

    expect(refunds()).toEqual([]);
    expect((await rig.records.turnsOf('test/c1'))[0]).toMatchObject({
      reason: 'approval_rejected',
    });
  });

  test('[S0-51] a day-long wait that runs out ends the turn as expired', async () => {
    const clock = { offsetMs: 0 };
    const { rig, refunds } = await waitingForPerson({
      store: { clockOffsetMs: () => clock.offsetMs },
    });

    clock.offsetMs = 86_400_001;
    const parked = await rig.store.parkedTurn('test/c1');
    if (parked === undefined) throw new Error('not parked');
    const waiting = { conversationId: 'test/c1', turnId: parked.turnId, park: parked.park.number };
    await rig.queues.hurry(waiting, 'approval');
    await rig.target.arrived('note', 1);

    expect(refunds()).toEqual([]);
    expect((await rig.records.turnsOf('test/c1'))[0]).toMatchObject({ reason: 'approval_expired' });
  });

  test('[P7] the checks run again when it comes back: an order that was read anew as not cancelled is asked about again', async () => {
    const { shop, rig, approval, decide, refunds } = await waitingForPerson();
    const order = shop.orders.get('1');
    if (order === undefined) throw new Error('no order');
    order.status = 'paid';
    order.version += 1;

    await decide('approved');
    const again = await nextApproval(rig, approval.id);

    expect(refunds()).toEqual([]);
    expect(again).toMatchObject({ status: 'pending', seen: { status: 'paid' } });
  });

  test('[S0-51] the wait survives the death of every worker', async () => {
    const { rig, host, decide, refunds } = await waitingForPerson();
    await host.close();
    await decide('approved');

    await rig.startHost();
    await rig.target.arrived('reply', 1);

    expect(refunds()).toHaveLength(1);
  });

  test('[P3] [S4-55] while it waits, other conversations go on and its own messages keep their place', async () => {
    const { rig, decide } = await waitingForPerson({ approvalLimits: { EUR: 0 } });
    await rig.accept(ticket({ text: 'any news?' }));
    await rig.accept(
      ticket({ conversationId: 'c2', requester: { id: 'bob', assurance: 'verified' } }),
    );
    await rig.target.when(() => rig.target.of('note', 'c2').length > 0);

    expect(await rig.records.blocked()).toMatchObject([
      { conversationId: 'test/c1', phase: 'awaiting_approval', behind: 1 },
    ]);
    await decide('approved');
    await rig.target.when(() => rig.target.of('reply', 'c1').length >= 1);
  });
});

type Rig = Awaited<ReturnType<typeof startRig>>;

/** The approval that is asked for instead of `earlier`; waits on the record, not on time. */
async function nextApproval(rig: Rig, earlier: string) {
  for (;;) {
    const [approval] = await rig.records.pendingApprovals();
    if (approval !== undefined && approval.id !== earlier) return approval;
  }
}
