import { describe, expect, test } from 'vitest';
import type { Agent } from '../../src/config/index.ts';
import type { View } from '../../src/loop/index.ts';
import { scriptedModel, type ScriptedAnswer } from '../../src/models/index.ts';
import { startRig, ticket, type RigOptions } from '../support/rig.ts';
import { Shop, shopTools } from '../support/shop.ts';

/** Reads the order the message names, refunds 20.00 of it, replies. */
function refunding(view: View): ScriptedAnswer {
  const orderId = /\d+/.exec(view.messages[0]?.text ?? '')?.[0] ?? '1';
  if (view.rounds.length > 1) return { kind: 'finish_candidate', reply: 'Refunded.' };
  const [tool, args] =
    view.rounds.length === 0
      ? ['get_order', { orderId }]
      : ['issue_refund', { orderId, amount: 2_000 }];
  return { kind: 'tool_calls', calls: [{ id: 'c1', tool, arguments: args }] };
}

type Rig = Awaited<ReturnType<typeof startRig>>;

async function shopOf(orders: number, options: Partial<RigOptions> = {}) {
  const shop = new Shop();
  for (let id = 1; id <= orders; id += 1) shop.add({ id: String(id) });
  const rig = await startRig({
    model: scriptedModel(refunding),
    tools: shopTools(shop),
    approvalLimits: { EUR: 5_000 },
    ...options,
  });
  return { shop, rig };
}

async function hurry(rig: Rig, conversationId: string): Promise<void> {
  const parked = await rig.store.parkedTurn(conversationId);
  if (parked === undefined) return;
  const { turnId, park } = parked;
  await rig.queues.hurry({ conversationId, turnId, park: park.number }, park.kind);
}

describe("the sum of a customer's day", () => {
  test('[P8] two conversations of one customer at once: only one gets its refund without a person', async () => {
    const { shop, rig } = await shopOf(2, { risk: { customerDay: { EUR: 3_000 } } });
    await Promise.all([rig.startHost(), rig.startHost()]);

    await Promise.all(
      ['1', '2'].map((id) =>
        rig.accept(ticket({ conversationId: id, text: `Refund order ${id}` })),
      ),
    );
    await rig.target.arrived('holding', 1);
    await rig.target.arrived('reply', 1);

    expect(shop.effects).toMatchObject([{ kind: 'refund', amount: 2_000 }]);
    expect(await rig.records.pendingApprovals()).toMatchObject([
      { reason: "with refund 2000 this customer's day is above 30.00 EUR" },
    ]);
  });

  test('two customers do not share one', async () => {
    const { shop, rig } = await shopOf(1, { risk: { customerDay: { EUR: 3_000 } } });
    shop.add({ id: '2', owner: 'bob@example.com' });
    await rig.startHost();

    await rig.accept(ticket({ conversationId: '1', text: 'Refund order 1' }));
    const requester = { id: 'bob@example.com', assurance: 'verified' } as const;
    await rig.accept(ticket({ conversationId: '2', text: 'Refund order 2', requester }));
    await rig.target.arrived('reply', 2);

    expect(shop.effects).toHaveLength(2);
  });
});

test('[S2-12] [P7] a policy that changed while a person thought: their yes does not count, they are asked under the new one', async () => {
  const { shop, rig } = await shopOf(1, { approvalLimits: { EUR: 0 } });
  const host = await rig.startHost();
  await rig.accept(ticket({ text: 'Refund order 1' }));
  await rig.target.arrived('holding', 1);
  const [before] = await rig.records.pendingApprovals();
  if (before === undefined) throw new Error('nothing waits');
  await host.close();
  await rig.store.decideApproval(before.id, 'approved', 'ana');
  const { risk } = rig.agent.rules;
  const changed: Agent = {
    ...rig.agent,
    rules: { ...rig.agent.rules, risk: { ...risk, limits: { EUR: 1_000 }, version: 'v2' } },
  };
  const { promise: askedAgain, resolve } = Promise.withResolvers<void>();

  await rig.startHost({ agent: changed, onTrace: () => resolve() });
  await hurry(rig, 'test/c1');
  await askedAgain;

  const [after] = await rig.records.pendingApprovals();
  expect(shop.effects).toEqual([]);
  expect(after).toMatchObject({
    policy: 'v2',
    reason: 'refund 2000 is above the limit of 10.00 EUR',
  });
  expect(after?.id).not.toBe(before.id);
  // The customer was told once that somebody is looking.
  expect(rig.target.of('holding')).toHaveLength(1);

  await rig.store.decideApproval(after?.id ?? '', 'approved', 'ana');
  await hurry(rig, 'test/c1');
  await rig.target.arrived('reply', 1);
  expect(shop.effects).toMatchObject([{ kind: 'refund', amount: 2_000 }]);
});
