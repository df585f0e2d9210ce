import type { Ending, EventOf, StopCause, Usage } from '../contracts/index.ts';
import { fingerprint, identicalFailures, repetitionOf } from './repetition.ts';
import { currentCalls, type CallState, type TurnState } from './state.ts';

// How the state of a turn moves. Each takes a state and gives the next one; which event leads to which stands in decide.ts.

export function end(state: TurnState, ending: Ending): TurnState {
  return { ...state, phase: 'ended', ending };
}

const STOPS = {
  cancelled: { outcome: 'cancelled', reason: 'cancelled' },
  human_takeover: { outcome: 'escalated', reason: 'human_takeover' },
  superseded: { outcome: 'cancelled', reason: 'superseded' },
  deadline: { outcome: 'timed_out', reason: 'deadline' },
  cost_budget: { outcome: 'budget_exhausted', reason: 'cost_budget' },
  token_budget: { outcome: 'budget_exhausted', reason: 'token_budget' },
  max_replies: { outcome: 'budget_exhausted', reason: 'max_replies' },
  no_reply_needed: { outcome: 'completed', reason: 'no_reply_needed' },
} as const satisfies Record<StopCause, Ending>;

/** Ends the turn for a cause from outside its own course. A superseded turn first settles what it has sent. */
export function stopped(state: TurnState, stop: EventOf<'stop_requested'>): TurnState {
  const sent = currentCalls(state).some((call) => call.step === 'verifying');
  if (stop.cause === 'superseded' && sent) return { ...state, stop };
  const forced = stop.cause === 'cancelled' && stop.how === 'abandoned';
  const ending = forced
    ? ({ outcome: 'cancelled', reason: 'force_terminated' } as const)
    : STOPS[stop.cause];
  return { ...end(state, ending), stop };
}

/** Goes to the model again, if a round is left. */
export function nextRound(state: TurnState): TurnState {
  if (state.rounds.length >= state.limits.rounds) {
    return end(state, { outcome: 'budget_exhausted', reason: 'max_rounds' });
  }
  return { ...state, phase: 'requesting_model' };
}

/** Gives the worker back until something outside has happened, if a park is left. */
export function wait(
  state: TurnState,
  phase: 'awaiting_verification' | 'awaiting_approval' | 'backing_off',
): TurnState {
  if (state.spent.parks >= state.limits.parks) {
    return end(state, { outcome: 'budget_exhausted', reason: 'max_parks' });
  }
  return { ...state, phase, waiting: 'to_park' };
}

/** A model call whose answer was lost is paid at its estimate. */
export function settleReservation(
  state: TurnState,
  used: { tokens: number; costMicros: number } = state.reserved,
): TurnState {
  return {
    ...state,
    reserved: { tokens: 0, costMicros: 0 },
    spent: {
      ...state.spent,
      tokens: state.spent.tokens + used.tokens,
      costMicros: state.spent.costMicros + used.costMicros,
    },
  };
}

/** Takes what a call has used from the accounts. */
export function pay(state: TurnState, usage: Usage | undefined): TurnState {
  if (usage === undefined) return state;
  const { spent } = state;
  const tokens = spent.tokens + usage.inputTokens + usage.outputTokens;
  return { ...state, spent: { ...spent, tokens, costMicros: spent.costMicros + usage.costMicros } };
}

export function updateCalls(state: TurnState, update: (call: CallState) => CallState): TurnState {
  const round = state.rounds.at(-1);
  if (round === undefined) return state;
  return {
    ...state,
    rounds: [...state.rounds.slice(0, -1), { ...round, calls: round.calls.map(update) }],
  };
}

/** Changes one call; when that finishes it, its failure or success is counted. */
export function updateCall(
  state: TurnState,
  callId: string,
  update: (call: CallState) => CallState,
): TurnState {
  let after: CallState | undefined;
  const next = updateCalls(state, (call) => {
    if (call.id !== callId) return call;
    after = update(call);
    return after;
  });
  if (after === undefined) throw new RangeError(`no call ${callId} in the current round`);
  return after.step === 'done' ? countFailure(next, after) : next;
}

function countFailure(state: TurnState, call: CallState): TurnState {
  const { result } = call;
  if (result === undefined || result.kind === 'ok') return { ...state, failures: {} };
  // A call over the limit of the round was never looked at: it tells nothing about progress.
  if (result.kind === 'rejected' && result.check === 'budget') return state;
  const print = fingerprint(call, result);
  const count = (state.failures[print] ?? 0) + 1;
  return { ...state, failures: { ...state.failures, [print]: count } };
}

const NO_PROGRESS = { outcome: 'escalated', reason: 'repeated_state' } as const;

/** Where the round goes on: the next step of its calls, a wait, the next round, or a stop for lack of progress. */
export function advance(state: TurnState): TurnState {
  if (state.phase === 'ended') return state;
  const steps = new Set(currentCalls(state).map((call) => call.step));
  // What runs side by side is heard to its end before anything is concluded.
  if (steps.has('running')) return { ...state, phase: 'running_tools' };
  if (state.stop !== undefined) return stopped(state, state.stop);
  if (identicalFailures(state) >= state.limits.identicalFailures) return end(state, NO_PROGRESS);
  const counts = Object.values(state.failures);
  if (counts.reduce((sum, count) => sum + count, 0) >= state.limits.consecutiveFailures) {
    return end(state, { outcome: 'escalated', reason: 'consecutive_failures' });
  }
  if (steps.has('admitted') || steps.has('verifying')) {
    return { ...state, phase: 'running_tools' };
  }
  if (steps.has('awaiting_approval')) return wait(state, 'awaiting_approval');
  if (steps.has('proposed') || steps.has('approved')) {
    return { ...state, phase: 'validating_actions' };
  }
  return repetitionOf(state) === undefined ? nextRound(state) : end(state, NO_PROGRESS);
}
