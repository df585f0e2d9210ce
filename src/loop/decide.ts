import {
  DEFAULT_LIMITS,
  type CallResult,
  type CallVerdict,
  type EffectRefusal,
  type Ending,
  type EventOf,
  type ModelFailureKind,
  type StopCause,
  type TurnEvent,
} from '../contracts/index.ts';
import { IllegalTransitionError } from './errors.ts';
import { actionHash } from './identity.ts';
import { currentCalls, initialState, type CallState, type EffectState, type TurnState } from './state.ts';
import { phasesAfter } from './transitions.ts';

/** What the host must do next. A command is performed outside and answered with the event that tells how it went. */
export type Command =
  | { do: 'ask' }
  | { do: 'judge' }
  | { do: 'check' }
  | { do: 'call'; call: CallState }
  | { do: 'verify'; call: CallState }
  | { do: 'park'; kind: 'verification' | 'approval' | 'back_off' }
  | { do: 'end'; ending: Ending };

export type Decision = { state: TurnState; commands: readonly Command[] };

/**
 * The loop. Takes one fact into the state and says what to do next. Pure: no clock, no chance, no I/O; the same events
 * always give the same state, which is why a turn can be rebuilt from its record by any worker.
 *
 * @throws IllegalTransitionError when the event cannot happen in this phase
 */
export function decide(state: TurnState, event: TurnEvent): Decision {
  const allowed = phasesAfter(state.phase, event.type);
  if (allowed.length === 0) throw new IllegalTransitionError(state.phase, event.type);
  const next = evolve(state, event);
  if (!allowed.includes(next.phase)) {
    throw new IllegalTransitionError(state.phase, event.type, next.phase);
  }
  return { state: next, commands: commandsFor(next) };
}

/** The state a record leads to. */
export function fold(events: readonly TurnEvent[]): TurnState {
  return events.reduce((state, event) => decide(state, event).state, initialState(DEFAULT_LIMITS));
}

function evolve(state: TurnState, event: TurnEvent): TurnState {
  switch (event.type) {
    case 'turn_started':
      return start(state, event);
    case 'turn_resumed':
      return resume(state, event);
    case 'model_requested':
      return { ...settleReservation(state), reserved: event.reserved };
    case 'model_responded':
      return takeProposal(state, event);
    case 'model_failed':
      return takeModelFailure(state, event);
    case 'finish_judged':
      return takeJudgement(state, event.objection);
    case 'calls_checked':
      return advance(takeVerdicts(state, event));
    case 'call_started':
      return updateCall(state, event.callId, (call) => started(call, event.validUntil));
    case 'effect_refused':
      return advance(
        updateCall(state, event.callId, (call) => onRecord(call, event.refusal, event.at)),
      );
    case 'call_settled':
      return advance(updateCall(state, event.callId, (call) => settled(call, event.result)));
    case 'verification_started':
      return state;
    case 'verification_read':
      return takeVerification(state, event);
    case 'turn_parked':
      return {
        ...state,
        waiting: 'parked',
        spent: { ...state.spent, parks: state.spent.parks + 1 },
        ...(state.phase === 'awaiting_approval' ? { waitingSince: event.at } : {}),
      };
    case 'approval_decided':
      return takeDecision(state, event);
    case 'stop_requested':
      return { ...end(state, STOPS[event.cause]), stop: event };
    case 'turn_failed':
      return end(state, { outcome: 'failed', reason: 'internal' });
    case 'turn_ended':
      return state;
    default:
      return event satisfies never;
  }
}

function commandsFor(state: TurnState): readonly Command[] {
  switch (state.phase) {
    case 'queued':
      return [];
    case 'requesting_model':
      return [{ do: 'ask' }];
    case 'validating_actions':
      return [{ do: currentCalls(state).length > 0 ? 'check' : 'judge' }];
    case 'running_tools': {
      const calls = currentCalls(state);
      const verifying = calls.find((call) => call.step === 'verifying');
      if (verifying !== undefined) return [{ do: 'verify', call: verifying }];
      return calls
        .filter((call) => call.step === 'admitted')
        .map((call) => ({ do: 'call', call }) as const);
    }
    case 'awaiting_verification': {
      if (state.waiting === 'to_park') return [{ do: 'park', kind: 'verification' }];
      const call = currentCalls(state).find((candidate) => candidate.step === 'verifying');
      return state.waiting === 'woken' && call !== undefined ? [{ do: 'verify', call }] : [];
    }
    case 'awaiting_approval':
      return state.waiting === 'parked' ? [] : [{ do: 'park', kind: 'approval' }];
    case 'backing_off':
      return state.waiting === 'parked' ? [] : [{ do: 'park', kind: 'back_off' }];
    case 'ended':
      return state.ending === undefined ? [] : [{ do: 'end', ending: state.ending }];
    default:
      return state.phase satisfies never;
  }
}

// --- the turn -------------------------------------------------------------------------------------------------------

const STOPS = {
  cancelled: { outcome: 'cancelled', reason: 'cancelled' },
  human_takeover: { outcome: 'escalated', reason: 'human_takeover' },
  deadline: { outcome: 'timed_out', reason: 'deadline' },
  cost_budget: { outcome: 'budget_exhausted', reason: 'cost_budget' },
  token_budget: { outcome: 'budget_exhausted', reason: 'token_budget' },
} as const satisfies Record<StopCause, Ending>;

function start(state: TurnState, event: EventOf<'turn_started'>): TurnState {
  const started = { ...state, intent: event.intent, startedAt: event.at, limits: event.limits };
  return event.owner === 'human'
    ? end(started, STOPS.human_takeover)
    : { ...started, phase: 'requesting_model' };
}

/** Another worker goes on: reads that were open run again, a write that was open may or may not have landed. */
function resume(state: TurnState, event: EventOf<'turn_resumed'>): TurnState {
  const { waitingSince, ...rest } = state;
  switch (state.phase) {
    case 'backing_off':
      return { ...rest, phase: 'requesting_model' };
    case 'awaiting_approval':
    case 'awaiting_verification':
      return {
        ...rest,
        waiting: 'woken',
        personWaitMs: state.personWaitMs + (event.at - (waitingSince ?? event.at)),
      };
    case 'running_tools':
      return updateCalls(rest, (call) => {
        if (call.step !== 'running') return call;
        if (call.effect === undefined) return { ...call, step: 'admitted' };
        return { ...call, step: 'verifying', effect: { ...call.effect, status: 'unknown' } };
      });
    default:
      return rest;
  }
}

function end(state: TurnState, ending: Ending): TurnState {
  return { ...state, phase: 'ended', ending };
}

/** Goes to the model again, if a round is left. */
function nextRound(state: TurnState): TurnState {
  if (state.rounds.length >= state.limits.rounds) {
    return end(state, { outcome: 'budget_exhausted', reason: 'max_rounds' });
  }
  return { ...state, phase: 'requesting_model' };
}

/** Gives the worker back until something outside has happened, if a park is left. */
function wait(
  state: TurnState,
  phase: 'awaiting_verification' | 'awaiting_approval' | 'backing_off',
): TurnState {
  if (state.spent.parks >= state.limits.parks) {
    return end(state, { outcome: 'budget_exhausted', reason: 'max_parks' });
  }
  return { ...state, phase, waiting: 'to_park' };
}

// --- the model ------------------------------------------------------------------------------------------------------

/** A model call whose answer was lost is paid at its estimate. */
function settleReservation(
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

function takeProposal(before: TurnState, event: EventOf<'model_responded'>): TurnState {
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
  max_tokens: { outcome: 'failed', reason: 'max_tokens' },
  context_overflow: { outcome: 'conversation_full', reason: 'context_overflow' },
  unknown_stop_reason: { outcome: 'failed', reason: 'unknown_stop_reason' },
  empty_reply: { outcome: 'failed', reason: 'empty_reply' },
  invalid_proposal: 'send_back',
  timeout: 'try_later',
  silence: 'try_later',
  rate_limited: 'try_later',
  unavailable: 'try_later',
} as const satisfies Record<ModelFailureKind, Ending | 'send_back' | 'try_later'>;

const FIRST_BACK_OFF_MS = 1_000;
const LONGEST_BACK_OFF_MS = 60_000;

function takeModelFailure(before: TurnState, event: EventOf<'model_failed'>): TurnState {
  const { failure, usage } = event;
  // Nothing was computed for a call that was turned away at the door; one that fell silent is paid at its estimate.
  const unpaid = failure.kind === 'rate_limited' || failure.kind === 'unavailable';
  const used = usage
    ? { tokens: usage.inputTokens + usage.outputTokens, costMicros: usage.costMicros }
    : unpaid
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

  const failures = state.modelFailures + 1;
  if (failures >= state.limits.modelFailures) {
    return end(
      { ...state, modelFailures: failures },
      failure.kind === 'silence'
        ? { outcome: 'timed_out', reason: 'silence' }
        : { outcome: 'failed', reason: 'model_unavailable' },
    );
  }
  const backOffMs = Math.min(LONGEST_BACK_OFF_MS, FIRST_BACK_OFF_MS * 2 ** (failures - 1));
  return {
    ...wait({ ...state, modelFailures: failures }, 'backing_off'),
    backOffUntil: Math.max(failure.retryAt ?? 0, event.at + backOffMs),
  };
}

function takeJudgement(state: TurnState, objection: string | undefined): TurnState {
  const round = state.rounds.at(-1);
  const proposal = round?.proposal;
  if (round === undefined || proposal?.kind !== 'finish_candidate') {
    throw new IllegalTransitionError(state.phase, 'finish_judged');
  }
  if (objection === undefined) {
    return end(state, { outcome: 'completed', reason: proposal.as });
  }
  const rejected = state.rejectedFinishes + 1;
  const sentBack = {
    ...state,
    rejectedFinishes: rejected,
    rounds: [...state.rounds.slice(0, -1), { ...round, objection }],
  };
  return rejected > state.limits.rejectedFinishes
    ? end(sentBack, { outcome: 'escalated', reason: 'finish_rejected' })
    : nextRound(sentBack);
}

// --- the calls of a round -------------------------------------------------------------------------------------------

function updateCalls(state: TurnState, update: (call: CallState) => CallState): TurnState {
  const round = state.rounds.at(-1);
  if (round === undefined) return state;
  return {
    ...state,
    rounds: [...state.rounds.slice(0, -1), { ...round, calls: round.calls.map(update) }],
  };
}

/** Changes one call; when that finishes it, its failure or success is counted. */
function updateCall(
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
  const fingerprint = `${actionHash(call.tool, call.arguments)} ${result.kind} ${result.code}`;
  const count = (state.failures[fingerprint] ?? 0) + 1;
  return { ...state, failures: { ...state.failures, [fingerprint]: count } };
}

/** Where the round goes on: the next step of its calls, a wait, the next round, or a stop for lack of progress. */
function advance(state: TurnState): TurnState {
  if (state.phase === 'ended') return state;
  const counts = Object.values(state.failures);
  if (counts.some((count) => count >= state.limits.identicalFailures)) {
    return end(state, { outcome: 'escalated', reason: 'repeated_state' });
  }
  if (counts.reduce((sum, count) => sum + count, 0) >= state.limits.consecutiveFailures) {
    return end(state, { outcome: 'escalated', reason: 'consecutive_failures' });
  }
  const steps = new Set(currentCalls(state).map((call) => call.step));
  if (steps.has('running') || steps.has('admitted') || steps.has('verifying')) {
    return { ...state, phase: 'running_tools' };
  }
  if (steps.has('awaiting_approval')) return wait(state, 'awaiting_approval');
  if (steps.has('proposed') || steps.has('approved')) {
    return { ...state, phase: 'validating_actions' };
  }
  return nextRound(state);
}

function takeVerdicts(before: TurnState, event: EventOf<'calls_checked'>): TurnState {
  let state = before;
  for (const verdict of event.verdicts) {
    state = updateCall(state, verdict.callId, (call) => checked(call, verdict, event.at));
    const again = currentCalls(before).find((call) => call.id === verdict.callId);
    const overBudget = verdict.kind === 'rejected' && verdict.check === 'budget';
    if (again?.step === 'proposed' && !overBudget) {
      state = { ...state, spent: { ...state.spent, toolCalls: state.spent.toolCalls + 1 } };
    }
    if (verdict.kind === 'rejected' && verdict.code === 'max_tool_calls') {
      return end(state, { outcome: 'budget_exhausted', reason: 'max_tool_calls' });
    }
  }
  return state;
}

function checked(call: CallState, verdict: CallVerdict, at: number): CallState {
  switch (verdict.kind) {
    case 'admitted_read':
      return { ...call, step: 'admitted' };
    case 'admitted_write':
      return { ...call, step: 'admitted', effect: planned(verdict.effect) };
    case 'needs_approval':
      return {
        ...call,
        step: 'awaiting_approval',
        effect: planned(verdict.effect),
        approval: { id: verdict.approvalId, reason: verdict.reason, seen: verdict.seen },
      };
    case 'on_record':
      return onRecord({ ...call, effect: planned(verdict.effect) }, verdict.refusal, at);
    case 'rejected': {
      const { check, code, message } = verdict;
      return { ...call, step: 'done', result: { kind: 'rejected', check, code, message } };
    }
    default:
      return verdict satisfies never;
  }
}

function planned(effect: Extract<CallVerdict, { kind: 'admitted_write' }>['effect']): EffectState {
  return { ...effect, status: 'planned', answered: false, reads: [] };
}

function started(call: CallState, validUntil: number | undefined): CallState {
  if (call.effect === undefined) return { ...call, step: 'running' };
  return {
    ...call,
    step: 'running',
    effect: {
      ...call.effect,
      status: 'attempted',
      ...(validUntil === undefined ? {} : { validUntil }),
    },
  };
}

const REFUSALS = {
  duplicate: 'this operation is on record already',
  conflict:
    'the same operation is on record with other arguments; it is not done a second time. If this is a further one, name the earlier operation it follows',
  possible_repeat:
    'an earlier message of this conversation led to the same action; it is not done a second time',
  unknown_predecessor: 'the operation it should follow is not on record as verified',
} as const satisfies Record<EffectRefusal['refusal'], string>;

/** The ledger holds the operation already: its earlier outcome counts, once it is verified. */
function onRecord(call: CallState, refusal: EffectRefusal, at: number): CallState {
  const { earlier } = refusal;
  if (refusal.refusal !== 'duplicate' || earlier === undefined || call.effect === undefined) {
    return {
      ...call,
      step: 'done',
      result: {
        kind: 'rejected',
        check: 'idempotency',
        code: refusal.refusal,
        message: `${REFUSALS[refusal.refusal]}${earlier === undefined ? '' : ` (${earlier.operation}, ${earlier.status})`}.`,
      },
    };
  }
  const result: CallResult = {
    kind: 'ok',
    earlier: true,
    observation: {
      callId: call.id,
      provenance: `ledger:${call.tool}`,
      trust: 'untrusted',
      at,
      data: earlier.outcome ?? null,
      size: 0,
      hash: '',
    },
  };
  const effect: EffectState = {
    ...call.effect,
    status: earlier.status,
    answered: earlier.status === 'applied' || earlier.status === 'verified',
    ...(earlier.validUntil === undefined ? {} : { validUntil: earlier.validUntil }),
  };
  if (earlier.status === 'verified') return { ...call, step: 'done', effect, result };
  return {
    ...call,
    step: 'verifying',
    effect: effect.answered ? effect : { ...effect, status: 'unknown' },
    result,
  };
}

function settled(call: CallState, result: CallResult): CallState {
  const { effect } = call;
  if (effect === undefined) return { ...call, step: 'done', result };
  switch (result.kind) {
    case 'ok':
      return { ...call, step: 'verifying', result, effect: answer(effect, 'applied') };
    case 'refused':
      return { ...call, step: 'done', result, effect: answer(effect, 'rejected') };
    case 'failed':
    case 'rejected':
      return { ...call, step: 'done', result, effect: { ...effect, status: 'not_landed' } };
    case 'unknown':
      return { ...call, step: 'verifying', result, effect: { ...effect, status: 'unknown' } };
    default:
      return result satisfies never;
  }
}

function answer(effect: EffectState, status: 'applied' | 'rejected'): EffectState {
  return { ...effect, status, answered: true };
}

// --- waiting --------------------------------------------------------------------------------------------------------

/**
 * What a re-read of the world means for the effect. `not_landed` is believed of a call that was answered, or whose
 * validity has passed: before that a late arrival could still land.
 */
function takeVerification(before: TurnState, event: EventOf<'verification_read'>): TurnState {
  const { read, final } = event;
  let ending: Ending | undefined;
  let waits = false;
  const state = updateCall(before, event.callId, (call) => {
    if (call.effect === undefined) throw new RangeError(`call ${call.id} has no effect`);
    const effect = { ...call.effect, reads: [...call.effect.reads, read] };
    const unproven: Ending = effect.answered
      ? { outcome: 'escalated', reason: 'verification_failed' }
      : { outcome: 'escalated', reason: 'effect_unknown' };
    switch (read.verdict) {
      case 'landed':
        return {
          ...call,
          step: 'done',
          effect: { ...effect, status: 'verified' },
          result: landedResult(call, read),
        };
      case 'not_landed': {
        const expired = effect.validUntil !== undefined && read.at > effect.validUntil;
        if (!effect.answered && expired) {
          return { ...call, step: 'done', effect: { ...effect, status: 'not_landed' }, result: LOST };
        }
        if (effect.answered && final) {
          ending = unproven;
          return { ...call, effect: { ...effect, status: 'not_landed' } };
        }
        break;
      }
      case 'blocked':
        ending = { outcome: 'escalated', reason: 'verification_failed' };
        return { ...call, effect };
      case 'pending':
      case 'unknown':
        break;
      default:
        return read.verdict satisfies never;
    }
    if (final) ending = unproven;
    else waits = true;
    return { ...call, effect };
  });
  if (ending !== undefined) return end(state, ending);
  return waits ? wait(state, 'awaiting_verification') : advance(state);
}

const LOST: CallResult = {
  kind: 'failed',
  code: 'not_landed',
  message: 'the call was lost before it had any effect; it may be asked for again',
  transient: true,
};

/** What the tool said stands; when its answer was lost, what the re-read found takes its place. */
function landedResult(call: CallState, read: EventOf<'verification_read'>['read']): CallResult {
  if (call.result?.kind === 'ok') return call.result;
  if (read.observation !== undefined) return { kind: 'ok', observation: read.observation };
  throw new RangeError(`call ${call.id} landed without an observation`);
}

function takeDecision(state: TurnState, event: EventOf<'approval_decided'>): TurnState {
  const call = currentCalls(state).find((candidate) => candidate.approval?.id === event.approvalId);
  if (call === undefined) throw new RangeError(`approval ${event.approvalId} belongs to no call`);
  switch (event.decision) {
    case 'approved':
      return {
        ...updateCall(state, call.id, (approved) => ({ ...approved, step: 'approved' })),
        phase: 'validating_actions',
      };
    case 'rejected':
      return end(state, { outcome: 'escalated', reason: 'approval_rejected' });
    case 'expired':
      return end(state, { outcome: 'escalated', reason: 'approval_expired' });
    case 'cancelled':
      return end(state, STOPS.cancelled);
    default:
      return event.decision satisfies never;
  }
}
