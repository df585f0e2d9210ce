import type { Phase, TurnEventType } from '../contracts/index.ts';

export type LoopPhase = Phase | 'ended';

type Row = Partial<Record<TurnEventType, readonly LoopPhase[]>>;

/** What can happen to every turn that has not ended. */
const ANY_TIME = { stop_requested: ['ended'], turn_failed: ['ended'] } as const satisfies Row;

/**
 * What may follow what: phase x event -> the phases the turn may be in afterwards. An event without a cell cannot
 * happen in that phase; the loop refuses it. docs/state-machine.md is generated from this table.
 */
export const TRANSITIONS = {
  queued: {
    turn_started: ['requesting_model', 'ended'],
  },
  requesting_model: {
    ...ANY_TIME,
    turn_resumed: ['requesting_model'],
    model_requested: ['requesting_model'],
    model_responded: ['validating_actions', 'ended'],
    model_failed: ['requesting_model', 'backing_off', 'ended'],
  },
  validating_actions: {
    ...ANY_TIME,
    turn_resumed: ['validating_actions'],
    finish_judged: ['requesting_model', 'ended'],
    calls_checked: [
      'running_tools',
      'validating_actions',
      'requesting_model',
      'awaiting_approval',
      'ended',
    ],
  },
  running_tools: {
    ...ANY_TIME,
    // What was sent is settled first.
    stop_requested: ['ended', 'running_tools'],
    turn_resumed: ['running_tools'],
    call_started: ['running_tools'],
    effect_refused: ['running_tools', 'validating_actions', 'requesting_model', 'ended'],
    call_settled: ['running_tools', 'validating_actions', 'requesting_model', 'ended'],
    verification_started: ['running_tools'],
    verification_read: ['validating_actions', 'requesting_model', 'awaiting_verification', 'ended'],
  },
  awaiting_verification: {
    ...ANY_TIME,
    stop_requested: ['ended', 'awaiting_verification'],
    turn_parked: ['awaiting_verification'],
    turn_resumed: ['awaiting_verification'],
    verification_started: ['awaiting_verification'],
    verification_read: ['awaiting_verification', 'validating_actions', 'requesting_model', 'ended'],
  },
  awaiting_approval: {
    ...ANY_TIME,
    turn_parked: ['awaiting_approval'],
    turn_resumed: ['awaiting_approval'],
    approval_decided: ['validating_actions', 'ended'],
  },
  backing_off: {
    ...ANY_TIME,
    turn_parked: ['backing_off'],
    turn_resumed: ['requesting_model'],
  },
  ended: {
    // An end that was decided and not committed gives way to a stop, and to an objection to what it says.
    stop_requested: ['ended'],
    finish_judged: ['requesting_model', 'ended'],
    turn_ended: ['ended'],
  },
} as const satisfies Record<LoopPhase, Row>;

export function phasesAfter(phase: LoopPhase, event: TurnEventType): readonly LoopPhase[] {
  const row: Row = TRANSITIONS[phase];
  return row[event] ?? [];
}
