import type { Ending, EventOf, ModelFailureKind } from '../contracts/index.ts';
import { IllegalTransitionError } from './errors.ts';
import { end, nextRound, pay, settleReservation, wait } from './moves.ts';
import type { CallState, TurnState } from './state.ts';

export function takeProposal(before: TurnState, event: EventOf<'model_responded'>): TurnState {
  const { proposal, usage } = event;
  const number = before.rounds.length + 1;
  const calls: CallState[] =
    proposal.kind === 'tool_calls'
      ? proposal.calls.map((call, index) => ({
          id: `${number}.${index + 1}`,
          tool: call.tool,
          arguments: call.arguments,
          step: 'proposed',
        }))
      : [];
  const state: TurnState = {
    ...settleReservation(before, {
      tokens: usage.inputTokens + usage.outputTokens,
      costMicros: usage.costMicros,
    }),
    modelFailures: 0,
    rounds: [...before.rounds, { proposal, calls }],
  };
  switch (proposal.kind) {
    case 'tool_calls':
      // There is no further round in which the model could read the results, so nothing is run for it.
      return number >= state.limits.rounds
        ? end(state, { outcome: 'budget_exhausted', reason: 'max_rounds' })
        : { ...state, phase: 'validating_actions' };
    case 'finish_candidate':
      return proposal.as !== 'no_reply_needed' && isBlank(proposal.reply)
        ? end(state, { outcome: 'failed', reason: 'empty_reply' })
        : { ...state, phase: 'validating_actions' };
    case 'ask_customer':
      return isBlank(proposal.text)
        ? end(state, { outcome: 'failed', reason: 'empty_reply' })
        : end(state, { outcome: 'completed', reason: 'asked_customer' });
    case 'refuse':
      return isBlank(proposal.reply)
        ? end(state, { outcome: 'failed', reason: 'empty_reply' })
        : end(state, { outcome: 'completed', reason: 'declined' });
    case 'escalate':
      return end(state, { outcome: 'escalated', reason: 'model_escalated' });
    default:
      return proposal satisfies never;
  }
}

function isBlank(text: string): boolean {
  return text.trim() === '';
}

/** How a failed model call goes on: the turn ends, the model gets the reason, or the turn comes back later. */
const MODEL_FAILURE_ENDS = {
  refusal: { outcome: 'failed', reason: 'model_refusal' },
  content_filter: { outcome: 'failed', reason: 'model_refusal' },
  max_tokens: { outcome: 'failed', reason: 'max_tokens' },
  context_overflow: { outcome: 'conversation_full', reason: 'context_overflow' },
  overflow_mid_generation: { outcome: 'conversation_full', reason: 'context_overflow' },
  unknown_stop_reason: { outcome: 'failed', reason: 'unknown_stop_reason' },
  empty_reply: { outcome: 'failed', reason: 'empty_reply' },
  invalid_proposal: 'send_back',
  timeout: 'try_later',
  silence: 'try_later',
  rate_limited: 'try_later',
  account_limited: 'try_later',
  concurrency_limited: 'try_later',
  quota_exhausted: 'try_later',
  authentication_failed: { outcome: 'failed', reason: 'model_unavailable' },
  request_rejected: { outcome: 'failed', reason: 'model_unavailable' },
  overloaded: 'try_later',
  server_error: 'try_later',
  network_failure: 'try_later',
  unavailable: 'try_later',
  aborted: 'try_later',
} as const satisfies Record<ModelFailureKind, Ending | 'send_back' | 'try_later'>;

/** Nothing was computed for a call that was turned away at the door. */
const UNPAID: ReadonlySet<ModelFailureKind> = new Set([
  'context_overflow',
  'rate_limited',
  'account_limited',
  'concurrency_limited',
  'quota_exhausted',
  'authentication_failed',
  'request_rejected',
  'server_error',
  'overloaded',
  'unavailable',
]);

const FIRST_BACK_OFF_MS = 1_000;
const LONGEST_BACK_OFF_MS = 60_000;

export function takeModelFailure(before: TurnState, event: EventOf<'model_failed'>): TurnState {
  const { failure, usage } = event;
  // A call that ended otherwise without telling what it used is paid at its estimate.
  const used = usage
    ? { tokens: usage.inputTokens + usage.outputTokens, costMicros: usage.costMicros }
    : UNPAID.has(failure.kind)
      ? { tokens: 0, costMicros: 0 }
      : before.reserved;
  const state = settleReservation(before, used);
  const course = MODEL_FAILURE_ENDS[failure.kind];
  if (course === 'send_back') {
    const rejected = state.rejectedFinishes + 1;
    const objection = `Your answer could not be read: ${failure.detail ?? 'it fits no proposal'}.`;
    const sentBack = {
      ...state,
      rejectedFinishes: rejected,
      rounds: [...state.rounds, { proposal: null, calls: [], objection }],
    };
    return rejected > state.limits.rejectedFinishes
      ? end(sentBack, { outcome: 'failed', reason: 'invalid_proposal' })
      : nextRound(sentBack);
  }
  if (course !== 'try_later') return end(state, course);

  // A turn that was not even asked waits its turn; parks and deadline bound that.
  const failures = state.modelFailures + (failure.kind === 'account_limited' ? 0 : 1);
  if (failures >= state.limits.modelFailures) {
    return end(
      { ...state, modelFailures: failures },
      failure.kind === 'silence'
        ? { outcome: 'timed_out', reason: 'silence' }
        : { outcome: 'failed', reason: 'model_unavailable' },
    );
  }
  const backOffMs = Math.min(LONGEST_BACK_OFF_MS, FIRST_BACK_OFF_MS * 2 ** (failures - 1));
  const notBefore = event.at + (failure.kind === 'account_limited' ? 0 : backOffMs);
  return {
    ...wait({ ...state, modelFailures: failures }, 'backing_off'),
    backOffUntil: Math.max(failure.retryAt ?? 0, notBefore),
  };
}

export function takeJudgement(before: TurnState, event: EventOf<'finish_judged'>): TurnState {
  const { objection, reply, uncited = false, usage } = event;
  const state = pay(before, usage);
  const round = state.rounds.at(-1);
  const proposal = round?.proposal;
  if (state.phase === 'ended') return takeObjection(state, objection);
  if (round === undefined || proposal?.kind !== 'finish_candidate') {
    throw new IllegalTransitionError(state.phase, 'finish_judged');
  }
  const earlier = state.rounds.slice(0, -1);
  const accepted = { ...state, rounds: [...earlier, { ...round, ...(reply ? { reply } : {}) }] };
  const finished: Ending = { outcome: 'completed', reason: proposal.as };
  if (objection === undefined) return end(accepted, finished);
  const again = sentBack(state, objection);
  if (!uncited || again.ending?.reason !== 'finish_rejected') return again;
  // The rest of the reply goes out without what could not be located, if there is a rest.
  return reply
    ? end(accepted, finished)
    : end(again, { outcome: 'failed', reason: 'uncited_claim' });
}

/** A question or a refusal ends its turn at once, and goes back only where somebody objects to what it says. */
function takeObjection({ ending, ...state }: TurnState, objection: string | undefined): TurnState {
  const isText = ending?.reason === 'asked_customer' || ending?.reason === 'declined';
  if (!isText || objection === undefined) {
    throw new IllegalTransitionError(state.phase, 'finish_judged');
  }
  return sentBack(state, objection);
}

/** The model gets its last answer back with what is wrong with it; once too often, and people take over. */
function sentBack(before: TurnState, objection: string): TurnState {
  const rejected = before.rejectedFinishes + 1;
  const state: TurnState = {
    ...before,
    rejectedFinishes: rejected,
    rounds: before.rounds.map((round, index, all) =>
      index === all.length - 1 ? { ...round, objection } : round,
    ),
  };
  return rejected > state.limits.rejectedFinishes
    ? end(state, { outcome: 'escalated', reason: 'finish_rejected' })
    : nextRound(state);
}
