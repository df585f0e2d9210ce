import { z } from 'zod';

/**
 * Every way a turn can end. The outcome says what happened to the customer's case, the stop reason says why the turn
 * stopped. The pair is closed: an outcome with a reason of another outcome does not parse.
 */
export const STOP_REASONS = {
  completed: ['replied', 'asked_customer', 'no_answer', 'declined', 'no_reply_needed'],
  escalated: [
    'model_escalated',
    'verification_failed',
    'effect_unknown',
    'approval_rejected',
    'approval_expired',
    'repeated_state',
    'consecutive_failures',
    'finish_rejected',
    'refused_by_policy',
    'injection_suspected',
    'human_takeover',
  ],
  budget_exhausted: [
    'max_rounds',
    'max_tool_calls',
    'token_budget',
    'cost_budget',
    'max_replies',
    'max_parks',
  ],
  timed_out: ['deadline', 'silence'],
  failed: [
    'model_refusal',
    'max_tokens',
    'unknown_stop_reason',
    'empty_reply',
    'invalid_proposal',
    'model_unavailable',
    'uncited_claim',
    'internal',
  ],
  cancelled: ['cancelled', 'force_terminated', 'superseded'],
  conversation_full: ['context_overflow'],
} as const;

export type Outcome = keyof typeof STOP_REASONS;
export type StopReason = (typeof STOP_REASONS)[Outcome][number];

export const OUTCOMES = Object.keys(STOP_REASONS) as Outcome[];

export const endingSchema = z.discriminatedUnion('outcome', [
  z.object({ outcome: z.literal('completed'), reason: z.enum(STOP_REASONS.completed) }),
  z.object({ outcome: z.literal('escalated'), reason: z.enum(STOP_REASONS.escalated) }),
  z.object({
    outcome: z.literal('budget_exhausted'),
    reason: z.enum(STOP_REASONS.budget_exhausted),
  }),
  z.object({ outcome: z.literal('timed_out'), reason: z.enum(STOP_REASONS.timed_out) }),
  z.object({ outcome: z.literal('failed'), reason: z.enum(STOP_REASONS.failed) }),
  z.object({ outcome: z.literal('cancelled'), reason: z.enum(STOP_REASONS.cancelled) }),
  z.object({
    outcome: z.literal('conversation_full'),
    reason: z.enum(STOP_REASONS.conversation_full),
  }),
]);
/** An outcome together with the reason that belongs to it. */
export type Ending = z.infer<typeof endingSchema>;

/** Every outcome but a completed or superseded turn hands the conversation over to people. */
export function handsOver(ending: Ending): boolean {
  return ending.outcome !== 'completed' && ending.reason !== 'superseded';
}
