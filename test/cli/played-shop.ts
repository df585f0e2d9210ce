import type { View } from '../../src/loop/index.ts';
import { scriptedModel, type ScriptedAnswer } from '../../src/models/index.ts';
import { cancelThenRefund } from '../support/cancel-then-refund.ts';
import { startRig, ticket } from '../support/rig.ts';
import { Shop, shopTools } from '../support/shop.ts';

/** Refunds above this need a person; the script refunds 20.00. */
export const NEEDS_PERSON = { EUR: 1_000 };

function policy(view: View): ScriptedAnswer {
  const text = view.messages[0]?.text ?? '';
  if (text.includes('human')) return { kind: 'escalate', rationale: 'the customer wants a person' };
  return cancelThenRefund(view);
}

/** A shop, its agent and a worker: "cancel" cancels and refunds order 1, "human" asks for a person. */
export async function playShop(
  options: {
    approvalLimits?: Record<string, number>;
    settleReads?: number;
    tools?: Parameters<typeof shopTools>[1];
  } = {},
) {
  const shop = new Shop();
  shop.add({ id: '1' });
  shop.settleReads = options.settleReads ?? 0;
  const rig = await startRig({
    model: scriptedModel(policy, { microsPerToken: 2 }),
    tools: shopTools(shop, options.tools),
    approvalLimits: options.approvalLimits ?? { EUR: 10_000 },
  });
  await rig.startHost();
  const turnId = async (conversationId = 'test/c1'): Promise<string> => {
    const conversation = await rig.records.conversation(conversationId);
    return conversation?.openTurn ?? conversation?.lastTurn ?? '';
  };
  return { ...rig, shop, turnId };
}

/** The shop with one turn that has cancelled after a wait and refunded. */
export async function playedTurn() {
  const played = await playShop({ settleReads: 2 });
  await played.accept(ticket({ text: 'cancel my order' }));
  await played.target.arrived('reply', 1);
  return { ...played, id: await played.turnId() };
}

/** The shop with one turn that waits for a person. */
export async function waitingTurn() {
  const played = await playShop({ approvalLimits: NEEDS_PERSON, settleReads: 2 });
  await played.accept(ticket({ text: 'cancel my order' }));
  await played.target.arrived('holding', 1);
  const [approval] = await played.records.pendingApprovals();
  if (approval === undefined) throw new Error('nothing waits for a person');
  const { conversationId, turnId } = approval;
  /** Agrees as another approver would, and lets the turn go on. */
  const approve = async (by: string): Promise<void> => {
    const parked = await played.store.parkedTurn(conversationId, turnId);
    await played.store.decideApproval(approval.id, 'approved', by);
    await played.queues.hurry(
      { conversationId, turnId, park: parked?.park.number ?? 0 },
      'approval',
    );
  };
  return { ...played, approval, approve, id: turnId };
}

/** The shop with a turn whose refund is under way: it has reached the shop, and no answer came until `end`. */
export async function refundUnderWay() {
  const underWay = Promise.withResolvers<void>();
  const answered = Promise.withResolvers<{ status: string }>();
  const run = (): Promise<{ status: string }> => {
    underWay.resolve();
    return answered.promise;
  };
  const played = await playShop({ tools: { issue_refund: { run, timeoutMs: 60_000 } } });
  await played.accept(ticket({ text: 'cancel my order' }));
  await underWay.promise;
  const end = (): void => answered.resolve({ status: 'refunded' });
  return { ...played, id: await played.turnId(), end };
}

/** The shop with a turn that ended because nobody could tell what became of its refund. */
export async function unknownRefund() {
  const played = await playShop({
    tools: {
      issue_refund: {
        run: () => Promise.reject(new Error('connection lost')),
        verify: {
          level: 'reread',
          read: () => Promise.reject(new Error('connection lost')),
          landed: () => 'landed',
          attempts: 1,
        },
      },
    },
  });
  await played.accept(ticket({ text: 'cancel my order' }));
  await played.target.arrived('note', 1);
  const row = (await played.records.ledger('test/c1')).at(-1);
  return { ...played, id: await played.turnId(), operation: row?.operation ?? '' };
}
