import {
  DEFAULT_LIMITS,
  type CallResult,
  type CallVerdict,
  type EventOf,
  type Limits,
  type PlannedEffect,
  type ProposalInput,
  proposalSchema,
  type TurnEvent,
  type Verdict,
} from '../../src/contracts/index.ts';
import {
  canonicalJson,
  decide,
  initialState,
  measureOf,
  type TurnState,
} from '../../src/loop/index.ts';

/** Short ways to write the events of a turn down. Time moves by a millisecond an event unless it is given. */
export const at = 1_000_000;

export function started(
  limits: Partial<Limits> = {},
  owner: 'agent' | 'human' = 'agent',
): TurnEvent {
  return {
    type: 'turn_started',
    at,
    intent: 'i1',
    owner,
    limits: { ...DEFAULT_LIMITS, ...limits },
  };
}

export function requested(tokens = 100, costMicros = 10): TurnEvent {
  return { type: 'model_requested', at, round: 1, reserved: { tokens, costMicros } };
}

export function responded(
  proposal: ProposalInput,
  usage = { inputTokens: 50, outputTokens: 10, costMicros: 5 },
): TurnEvent {
  const parsed = proposalSchema.parse(proposal);
  return { type: 'model_responded', at, proposal: parsed, usage, model: 'm', latencyMs: 1 };
}

export function calls(...tools: string[]): TurnEvent {
  return responded({
    kind: 'tool_calls',
    calls: tools.map((tool, index) => ({ id: `c${index}`, tool, arguments: { n: index } })),
  });
}

export function failed(
  kind: EventOf<'model_failed'>['failure']['kind'],
  more: Partial<EventOf<'model_failed'>['failure']> = {},
): TurnEvent {
  return { type: 'model_failed', at, failure: { kind, ...more }, latencyMs: 1 };
}

export const finish: ProposalInput = { kind: 'finish_candidate', reply: 'Done.' };

export function judged(objection?: string): TurnEvent {
  return { type: 'finish_judged', at, ...(objection === undefined ? {} : { objection }) };
}

export const effect: PlannedEffect = {
  operation: 'op1',
  resource: 'order:1',
  occurrence: '',
};

export function checked(...verdicts: CallVerdict[]): TurnEvent {
  return { type: 'calls_checked', at, verdicts };
}
export const read = (callId = '1.1'): CallVerdict => ({ kind: 'admitted_read', callId });
export const write = (callId = '1.1'): CallVerdict => ({ kind: 'admitted_write', callId, effect });
export const rejected = (callId = '1.1', code = 'no'): CallVerdict => ({
  kind: 'rejected',
  callId,
  check: 'authorization',
  code,
  message: 'no',
});
export const asks = (callId = '1.1', approvalId = 'a1'): CallVerdict => ({
  kind: 'needs_approval',
  callId,
  effect,
  approvalId,
  reason: 'above the limit',
  seen: { status: 'cancelled' },
});

export function begun(callId = '1.1', validUntil?: number): TurnEvent {
  return { type: 'call_started', at, callId, ...(validUntil === undefined ? {} : { validUntil }) };
}

export function settled(result: CallResult['kind'], callId = '1.1'): TurnEvent {
  return { type: 'call_settled', at, callId, result: resultOf(result, callId), latencyMs: 1 };
}

function resultOf(kind: CallResult['kind'], callId: string): CallResult {
  switch (kind) {
    case 'ok':
      return { kind, observation: observation(callId, { status: 'accepted' }) };
    case 'rejected':
      return { kind, check: 'authorization', code: 'no', message: 'no' };
    case 'failed':
      return { kind, code: 'down', message: 'down', transient: true };
    default:
      return { kind, code: 'x', message: 'x' };
  }
}

export function observation(callId: string, data: unknown) {
  return {
    callId,
    provenance: 'tool',
    trust: 'untrusted',
    at,
    data,
    ...measureOf(canonicalJson(data)),
  } as const;
}

export function reread(
  verdict: Verdict,
  options: { final?: boolean; at?: number; callId?: string } = {},
): TurnEvent {
  const { final = false, callId = '1.1' } = options;
  const readAt = options.at ?? at;
  return {
    type: 'verification_read',
    at: readAt,
    callId,
    read: {
      verdict,
      at: readAt,
      latencyMs: 1,
      observation: observation(callId, { status: verdict }),
    },
    final,
  };
}

export const rereading: TurnEvent = { type: 'verification_started', at, callId: '1.1' };
export const resumed: TurnEvent = { type: 'turn_resumed', at: at + 10, epoch: 2 };

export function parked(kind: 'verification' | 'approval' | 'back_off', number = 1): TurnEvent {
  return { type: 'turn_parked', at, park: { number, kind, dueAt: at + 1_000 } };
}

export function decided(
  decision: EventOf<'approval_decided'>['decision'],
  approvalId = 'a1',
): TurnEvent {
  return { type: 'approval_decided', at, approvalId, decision, by: 'ana' };
}

export function stop(cause: EventOf<'stop_requested'>['cause'] = 'deadline'): TurnEvent {
  return { type: 'stop_requested', at, cause };
}

export const broken: TurnEvent = { type: 'turn_failed', at, code: 'stuck' };
export const over: TurnEvent = {
  type: 'turn_ended',
  at,
  ending: { outcome: 'completed', reason: 'replied' },
};

/** The state after a list of events, starting from a new turn. */
export function after(...events: TurnEvent[]): TurnState {
  return events.reduce<TurnState>(
    (state, event) => decide(state, event).state,
    initialState(DEFAULT_LIMITS),
  );
}
