import { describe, expect, test } from 'vitest';
import type { View } from '../../src/loop/index.ts';
import { scriptedModel } from '../../src/models/index.ts';
import { Operator } from '../../src/producers/operator.ts';
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

describe('[S2-12] calls beside the one a person is asked about', () => {
  test('that ran already are not run again, those behind it run once it is done, each is answered once; with two people asked the customer is told once', async () => {
    const shop = new Shop();
    shop.add({ id: '1' });
    shop.add({ id: '2' });
    const views: View[] = [];
    const call = (id: string, tool: string, args: object) => ({ id, tool, arguments: args });
    const rig = await startRig({
      model: scriptedModel((view) => {
        views.push(structuredClone(view));
        if (view.rounds.length > 1) return { kind: 'finish_candidate', reply: 'Done.' };
        return {
          kind: 'tool_calls',
          calls:
            view.rounds.length === 0
              ? [call('r', 'get_order', { orderId: '1' })]
              : [
                  call('a', 'get_order', { orderId: '2' }),
                  call('b', 'cancel_order', { orderId: '1' }),
                  call('c', 'issue_refund', { orderId: '1', amount: 2_000 }),
                  call('d', 'issue_refund', { orderId: '2', amount: 1_000 }),
                  call('e', 'cancel_order', { orderId: '2' }),
                ],
        };
      }),
      tools: shopTools(shop),
      approvalLimits: { EUR: 0 },
      limits: { callsPerRound: 5 },
    });
    const first = await rig.startHost();
    await rig.accept(ticket({ text: 'Cancel my orders 1 and 2.' }));
    await rig.target.arrived('holding', 1);
    const [about1] = await rig.records.pendingApprovals();
    expect(writes(shop)).toEqual(['cancel 1']);
    await first.close();

    await approve(rig, about1?.id);
    const second = await rig.startHost();
    const about2 = await nextApproval(rig, about1?.id ?? '');
    expect(writes(shop)).toEqual(['cancel 1', 'refund 1']);
    await second.close();
    await approve(rig, about2.id);
    await rig.startHost();
    await rig.target.arrived('reply', 1);

    expect(writes(shop)).toEqual(['cancel 1', 'refund 1', 'refund 2', 'cancel 2']);
    expect(about2.arguments).toEqual({ orderId: '2', amount: 1_000 });
    expect(views.map(({ rounds }) => rounds.length)).toEqual([0, 1, 2]);
    expect(views[2]?.rounds[1]?.results.map(({ callId, result }) => [callId, result.kind])).toEqual(
      ['a', 'b', 'c', 'd', 'e'].map((id) => [id, 'ok']),
    );
    const [turn] = await rig.records.turnsOf('test/c1');
    const started = turn?.events.flatMap((event) =>
      event.type === 'call_started' ? [event.callId] : [],
    );
    expect(started).toEqual(['1.1', '2.1', '2.2', '2.3', '2.4', '2.5']);
    expect(rig.target.of('holding')).toHaveLength(1);
  });
});

const writes = (shop: Shop) => shop.calls.filter((call) => !call.startsWith('get'));

async function approve(rig: Rig, id = ''): Promise<void> {
  await new Operator(rig).decideApproval(id, 'approved', { by: 'ana' });
}

type Rig = Awaited<ReturnType<typeof startRig>>;

/** The approval that is asked for instead of `earlier`; waits on the record, not on time. */
async function nextApproval(rig: Rig, earlier: string) {
  for (;;) {
    const [approval] = await rig.records.pendingApprovals();
    if (approval !== undefined && approval.id !== earlier) return approval;
  }
}
