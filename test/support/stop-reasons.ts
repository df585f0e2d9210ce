import { DEFAULT_LIMITS, type ProposalInput, type StopReason } from '../../src/contracts/index.ts';
import type { View } from '../../src/loop/index.ts';
import { scriptedModel, type ScriptedAnswer } from '../../src/models/index.ts';
import { citationsOf } from '../../src/retrieval/index.ts';
import { ticket, type RigOptions, type startRig } from './rig.ts';
import { Shop, shopTools } from './shop.ts';

type Rig = Awaited<ReturnType<typeof startRig>>;

export type Scene = {
  answer(view: View): ScriptedAnswer;
  /** What makes its world different; a scene with one gets an agent and a shop of its own. */
  agent?: Partial<RigOptions>;
  shop?(shop: Shop): void;
  /** What people do once the turn waits for them. */
  people?(rig: Rig, waiting: Waiting): Promise<void>;
  /** What happens once the message is accepted. */
  meanwhile?(rig: Rig): Promise<void>;
};
type Waiting = { id: string; conversationId: string; turnId: string };

const say = (reply: string, more: object = {}): ProposalInput => ({
  kind: 'finish_candidate',
  reply,
  ...more,
});
const fails = (kind: string): ScriptedAnswer =>
  ({ kind: 'fails', failure: { kind } }) as ScriptedAnswer;
const call = (tool: string, args: object): ProposalInput => ({
  kind: 'tool_calls',
  calls: [{ id: 'c1', tool, arguments: args }],
});
/** Reads the order, then calls the tool. */
const afterReading =
  (tool: string, args: object) =>
  (view: View): ProposalInput =>
    view.rounds.length === 0 ? call('get_order', { orderId: '1' }) : call(tool, args);

const refund = afterReading('issue_refund', { orderId: '1', amount: 2_000 });

async function decide(rig: Rig, { id, conversationId, turnId }: Waiting, decision: 'rejected') {
  await rig.store.decideApproval(id, decision, 'tester');
  const parked = await rig.store.parkedTurn(conversationId, turnId);
  if (parked === undefined) return;
  const { number, kind } = parked.park;
  await rig.queues.hurry({ conversationId, turnId, park: number }, kind);
}

async function wake(rig: Rig, conversationId: string, turnId: string): Promise<void> {
  const parked = await rig.store.parkedTurn(conversationId, turnId);
  if (parked !== undefined) await rig.queues.wake(parked, conversationId);
}

/** A tool that never answers, also when it is told to stop, and the moment it was called. */
const deaf = Promise.withResolvers<void>();
function neverAnswer(): Promise<never> {
  deaf.resolve();
  return new Promise(() => {});
}
/** The clocks of the turn nobody gets through, and of the one whose model is slow. */
const stuck = { offsetMs: 0 };
const late = { offsetMs: 0 };

/**
 * One way to each stop reason that has a producer. The customer writes the name of the reason; the model acts so that
 * the turn ends for it.
 */
export const SCENES: Partial<Record<StopReason, Scene>> = {
  replied: { answer: () => say('Done.') },
  asked_customer: { answer: () => ({ kind: 'ask_customer', text: 'Which order?' }) },
  no_answer: { answer: () => say('I can cancel orders.', { as: 'no_answer' }) },
  declined: { answer: () => ({ kind: 'refuse', reply: 'I cannot do that.' }) },
  no_reply_needed: { answer: () => say('', { as: 'no_reply_needed' }) },
  model_escalated: { answer: () => ({ kind: 'escalate', rationale: 'a person' }) },
  finish_rejected: { answer: () => say('Done.', { claims: [{ text: 'x', evidence: ['9.9'] }] }) },
  uncited_claim: {
    answer: () => say('Free.', { claims: [{ text: 'Free.', evidence: ['doc:none@0a#0-5'] }] }),
    agent: {
      host: {
        documents: {
          tools: [],
          citations: citationsOf({ documents: () => Promise.resolve([]) }),
        },
      },
    },
  },
  repeated_state: { answer: () => call('get_order', { orderId: '404' }) },
  consecutive_failures: {
    answer: (view) => call('get_order', { orderId: String(404 + view.rounds.length) }),
  },
  max_rounds: {
    answer: (view) => call('get_order', { orderId: String(1 + view.rounds.length) }),
  },
  model_refusal: { answer: () => fails('refusal') },
  max_tokens: { answer: () => fails('max_tokens') },
  unknown_stop_reason: { answer: () => fails('unknown_stop_reason') },
  empty_reply: { answer: () => say('  ') },
  invalid_proposal: { answer: () => fails('invalid_proposal') },
  model_unavailable: { answer: () => fails('authentication_failed') },
  context_overflow: { answer: () => fails('context_overflow') },
  max_tool_calls: {
    answer: () => call('get_order', { orderId: '1' }),
    agent: { limits: { toolCalls: 1 } },
  },
  token_budget: { answer: () => say('Done.'), agent: { limits: { tokens: 1 } } },
  cost_budget: { answer: () => say('Done.'), agent: { limits: { costMicros: 1 } } },
  deadline: {
    answer: () => {
      // Its time is over when the model has answered.
      late.offsetMs += DEFAULT_LIMITS.deadlineMs;
      return call('get_order', { orderId: '1' });
    },
    agent: { store: { clockOffsetMs: () => late.offsetMs } },
  },
  max_replies: { answer: () => say('Done.'), agent: { caps: { conversation: { replies: 0 } } } },
  silence: { answer: () => fails('silence'), agent: { limits: { modelFailures: 1 } } },
  max_parks: {
    answer: afterReading('cancel_order', { orderId: '1' }),
    agent: { limits: { parks: 1 } },
    shop: (shop) => {
      shop.settleReads = 50;
    },
  },
  verification_failed: {
    answer: afterReading('cancel_order', { orderId: '1' }),
    shop: (shop) => shop.faults['cancel']?.push('ack_only'),
  },
  effect_unknown: {
    answer: afterReading('cancel_order', { orderId: '1' }),
    shop: (shop) => {
      shop.faults['cancel']?.push('lost_after');
      shop.faults['get']?.push('none', ...Array.from({ length: 20 }, () => 'lost_before' as const));
    },
  },
  approval_rejected: { answer: refund, people: (rig, waiting) => decide(rig, waiting, 'rejected') },
  approval_expired: { answer: refund, agent: { limits: { approvalMs: 50 } } },
  cancelled: {
    answer: refund,
    people: async (rig, { conversationId, turnId }) => {
      const signal = { cause: 'cancelled', by: 'tester', reason: 'not needed' } as const;
      await rig.store.requestStop(conversationId, turnId, signal);
      await wake(rig, conversationId, turnId);
    },
  },
  human_takeover: {
    answer: refund,
    people: async (rig, { conversationId, turnId }) => {
      await rig.store.takeOver(conversationId, { by: 'tester', reason: 'mine' });
      await wake(rig, conversationId, turnId);
    },
  },
  superseded: {
    answer: (view) => (view.messages.length > 1 ? say('Done.') : refund(view)),
    agent: { whileWaiting: 'supersede' },
    people: async (rig, { conversationId }) => {
      const [, name = ''] = conversationId.split('/');
      await rig.accept(ticket({ conversationId: name, text: 'superseded' }));
    },
  },
  force_terminated: {
    answer: () => call('get_order', { orderId: '1' }),
    agent: {
      tools: shopTools(new Shop(), { get_order: { timeoutMs: 20_000, run: neverAnswer } }),
    },
    meanwhile: async (rig) => {
      await deaf.promise;
      const { openTurn } = (await rig.records.conversation('test/force_terminated')) ?? {};
      const signal = { cause: 'cancelled', by: 'tester', reason: 'enough' } as const;
      await rig.store.requestStop('test/force_terminated', openTurn ?? '', signal);
    },
  },
  internal: {
    answer: () => {
      throw new Error('boom');
    },
    agent: {
      limits: { deadlineMs: 1_000_000_000 },
      store: { clockOffsetMs: () => stuck.offsetMs },
    },
    meanwhile: async (rig) => {
      const turns = rig.queues.of('turns', 'test/internal');
      while (rig.target.of('note').length === 0) {
        // It is kept back ever longer: the clock jumps over the wait.
        stuck.offsetMs += 60_000;
        for (const job of await turns.getDelayed()) await job.promote().catch(() => {});
      }
    },
  },
};

/** Answers each customer by the scene their message names. */
export const sceneModel = scriptedModel(
  (view) => {
    const name = view.messages[0]?.text ?? '';
    const scene = SCENES[name as StopReason];
    if (scene === undefined) throw new RangeError(`no scene for ${name}`);
    return scene.answer(view);
  },
  { microsPerToken: 1 },
);
