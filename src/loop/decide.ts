import {
  DEFAULT_LIMITS,
  limitsSchema,
  LOAD_SKILL,
  loadedSkillSchema,
  type Ending,
  type EventOf,
  type Limits,
  type TurnEvent,
} from '../contracts/index.ts';
import { checked, onRecord, proven, settled, started } from './calls.ts';
import { IllegalTransitionError } from './errors.ts';
import { takeJudgement, takeModelFailure, takeProposal } from './model-answers.ts';
import {
  advance,
  end,
  pay,
  settleReservation,
  stopped,
  updateCall,
  updateCalls,
  wait,
} from './moves.ts';
import { callOf, currentCalls, initialState, type CallState, type TurnState } from './state.ts';
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
  if (allowed.length === 0 || state.closed === true)
    throw new IllegalTransitionError(state.phase, event.type);
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
      return takeJudgement(state, event);
    case 'calls_checked':
      return advance(takeVerdicts(state, event));
    case 'call_started':
      return updateCall(state, event.callId, (call) => started(call, event.validUntil));
    case 'effect_refused':
      return advance(
        updateCall(state, event.callId, (call) => onRecord(call, event.refusal, event.at)),
      );
    case 'call_settled':
      return advance(
        takeSkill(
          updateCall(state, event.callId, (call) => settled(call, event.result)),
          event,
        ),
      );
    case 'verification_started':
      return state;
    case 'verification_read':
      return takeVerification(state, event);
    case 'turn_parked':
      return {
        ...state,
        waiting: 'parked',
        spent: { ...state.spent, parks: event.park.number },
        ...(state.phase === 'awaiting_approval' ? { waitingSince: event.at } : {}),
      };
    case 'approval_decided':
      return takeDecision(state, event);
    case 'stop_requested':
      return stopped(state, event);
    case 'turn_failed':
      return end(state, { outcome: 'failed', reason: 'internal' });
    case 'turn_ended':
      return { ...state, closed: true };
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

function withDefaults(changed: EventOf<'turn_started'>['limits']): Limits {
  return limitsSchema.parse(changed);
}

function start(state: TurnState, event: EventOf<'turn_started'>): TurnState {
  const started = {
    ...state,
    intent: event.intent,
    startedAt: event.at,
    limits: withDefaults(event.limits),
  };
  return event.owner === 'human'
    ? end(started, { outcome: 'escalated', reason: 'human_takeover' })
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

function takeVerdicts(before: TurnState, event: EventOf<'calls_checked'>): TurnState {
  let state = before;
  for (const verdict of event.verdicts) {
    state = updateCall(state, verdict.callId, (call) => checked(call, verdict, event.at));
    const again = currentCalls(before).find((call) => call.id === verdict.callId);
    const overBudget = verdict.kind === 'rejected' && verdict.check === 'budget';
    if (again?.step === 'proposed' && !overBudget) {
      state = { ...state, spent: oneCallMore(state) };
    }
    if (verdict.kind === 'rejected' && verdict.code === 'max_tool_calls') {
      return end(state, { outcome: 'budget_exhausted', reason: 'max_tool_calls' });
    }
  }
  return state;
}

/** Calls that were turned away count too, but never past the limit. */
function oneCallMore({ spent, limits }: TurnState): TurnState['spent'] {
  return { ...spent, toolCalls: Math.min(limits.toolCalls, spent.toolCalls + 1) };
}

function takeVerification(state: TurnState, event: EventOf<'verification_read'>): TurnState {
  const { callId, read, final } = event;
  const { call, next } = proven(callOf(state, callId), read, final);
  const after = pay(
    updateCall(state, callId, () => call),
    read.judge?.usage,
  );
  if (next === 'go_on') return advance(after);
  return next === 'wait' ? wait(after, 'awaiting_verification') : end(after, next);
}

/** A procedure that was loaded: the turn remembers its version, and the accounts that come with it replace its own. */
function takeSkill(state: TurnState, { callId, result }: EventOf<'call_settled'>): TurnState {
  if (result.kind !== 'ok' || callOf(state, callId).tool !== LOAD_SKILL) return state;
  const loaded = loadedSkillSchema.parse(result.observation.data);
  const skills = [...state.skills, { name: loaded.name, version: loaded.version }];
  return { ...state, skills, limits: { ...state.limits, ...loaded.limits } };
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
      return end(state, { outcome: 'cancelled', reason: 'cancelled' });
    default:
      return event.decision satisfies never;
  }
}
