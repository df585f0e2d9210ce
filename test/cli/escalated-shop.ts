import type { View } from '../../src/loop/index.ts';
import { scriptedModel, type ScriptedAnswer } from '../../src/models/index.ts';
import { BatchControl, Reprocess } from '../../src/producers/index.ts';
import { Batches } from '../../src/store/index.ts';
import { startRig, ticket } from '../support/rig.ts';
import { Shop, shopTools } from '../support/shop.ts';

/**
 * A shop that forgets keys, a worker, and conversations c1, c2, … whose turns have escalated: of the first `paid` after their
 * refund, of the others because the shop refused it. Once `world.healed` the agent asks for every refund again.
 */
export async function escalatedShop({
  paid = 0,
  refused = 0,
}: {
  paid?: number;
  refused?: number;
}) {
  const shop = new Shop();
  shop.idempotent = false;
  const world = { healed: false, asked: 0 };
  const rig = await startRig({
    model: scriptedModel(
      (view) => {
        world.asked += 1;
        return refundOnce(view, world.healed);
      },
      { microsPerToken: 2 },
    ),
    tools: shopTools(shop),
    approvalLimits: { EUR: 10_000 },
  });
  await rig.startHost();
  const escalate = async (from: number, to: number): Promise<void> => {
    for (let id = from; id <= to; id += 1) {
      shop.add({ id: String(id) });
      await rig.accept(ticket({ conversationId: `c${id}`, text: `Refund order ${id}` }));
    }
    await rig.target.arrived('note', to);
  };
  await escalate(1, paid);
  shop.faults['refund'] = Array.from({ length: refused }, () => 'refuse');
  await escalate(paid + 1, paid + refused);
  const batches = new Batches(rig.store);
  const now = (): number => rig.store.clock().now();
  const control = new BatchControl(batches, rig.queues, now);
  const { records } = rig;
  return { ...rig, shop, world, reprocess: new Reprocess({ batches, records, control, now }) };
}

/** Reads and refunds the order of the message, then says so, or gives up. */
function refundOnce(view: View, healed: boolean): ScriptedAnswer {
  const orderId = /\d+/.exec(view.messages[0]?.text ?? '')?.[0] ?? '';
  const last = view.rounds.at(-1)?.results.at(-1);
  const call = (tool: string, args: object): ScriptedAnswer => ({
    kind: 'tool_calls',
    calls: [{ id: 'c1', tool, arguments: args }],
  });
  if (last === undefined) return call('get_order', { orderId });
  if (last.tool === 'get_order') return call('issue_refund', { orderId, amount: 2_000 });
  if (healed && last.result.kind === 'ok') return { kind: 'finish_candidate', reply: 'Refunded.' };
  return { kind: 'escalate', rationale: 'the shop was not itself' };
}
