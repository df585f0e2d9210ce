import { z } from 'zod';
import { approvalDecisionSchema } from './approval.ts';
import { EFFECT_STATUSES } from './ledger.ts';
import { limitsSchema } from './limits.ts';
import { callResultSchema, CHECKS } from './observation.ts';
import { endingSchema } from './outcome.ts';
import { modelFailureSchema, proposalSchema, usageSchema } from './proposal.ts';
import { parkSchema } from './turn.ts';
import { verificationReadSchema } from './verification.ts';

/** What a write call will do to the world, fixed when it passed the checks. */
export const plannedEffectSchema = z.object({
  operation: z.string(),
  resource: z.string(),
  occurrence: z.string().default(''),
  /** The operation this one says it follows; it must be verified. */
  after: z.string().optional(),
});
export type PlannedEffect = z.infer<typeof plannedEffectSchema>;

/** Why the ledger did not let a write run, and the row that stands in its way. */
export const effectRefusalSchema = z.object({
  refusal: z.enum(['duplicate', 'conflict', 'possible_repeat', 'unknown_predecessor']),
  earlier: z
    .object({
      operation: z.string(),
      status: z.enum(EFFECT_STATUSES),
      validUntil: z.number().int().optional(),
      outcome: z.unknown().optional(),
    })
    .optional(),
});
export type EffectRefusal = z.infer<typeof effectRefusalSchema>;

/** Where the values of a write came from, by argument; see the loop's provenance. */
export const originsSchema = z.record(z.string(), z.string().nullable());

/** Digest of what is asked for without its cosmetic arguments, where a contract names some. */
const request = z.string().optional();

export const callVerdictSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('admitted_read'), callId: z.string(), request }),
  z.object({
    kind: z.literal('admitted_write'),
    callId: z.string(),
    effect: plannedEffectSchema,
    origins: originsSchema.optional(),
    request,
  }),
  z.object({
    kind: z.literal('needs_approval'),
    callId: z.string(),
    effect: plannedEffectSchema,
    approvalId: z.string(),
    reason: z.string(),
    /** The state of the world the approver will be shown. */
    seen: z.unknown(),
    origins: originsSchema.optional(),
    /** Version of the policy that asks. */
    policy: z.string().optional(),
    request,
  }),
  z.object({
    kind: z.literal('rejected'),
    callId: z.string(),
    check: z.enum(CHECKS),
    code: z.string(),
    message: z.string(),
    request,
  }),
  z.object({
    kind: z.literal('on_record'),
    callId: z.string(),
    effect: plannedEffectSchema,
    refusal: effectRefusalSchema,
  }),
]);
export type CallVerdict = z.infer<typeof callVerdictSchema>;

/** Why a turn is stopped from outside its own course. */
export const STOP_CAUSES = [
  'cancelled',
  'human_takeover',
  'superseded',
  'deadline',
  'cost_budget',
  'token_budget',
  'max_replies',
  'no_reply_needed',
] as const;
export type StopCause = (typeof STOP_CAUSES)[number];

/** How what was running came to its end: told to stop and did, had its answer in all the same, or was left behind. */
export const STOPPED_HOW = ['stopped', 'completed', 'abandoned'] as const;

const at = z.number().int();
const callId = z.string();

/**
 * The facts a turn consists of, in order. The list is the record of the turn: its state is the fold of these events,
 * and traces, step logs and live views are projections of them. `at` is milliseconds since the epoch.
 */
export const turnEventSchema = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('turn_started'),
    at,
    intent: z.string(),
    owner: z.enum(['agent', 'human']).default('agent'),
    /** Where they differ from the defaults; frozen for the life of the turn. */
    limits: limitsSchema.partial().default({}),
  }),
  /** Another claim goes on with the turn; what was open under the earlier claim is undetermined. */
  z.object({ type: z.literal('turn_resumed'), at, epoch: z.number().int() }),
  z.object({
    type: z.literal('model_requested'),
    at,
    round: z.number().int().positive(),
    /** Reserved before the call, settled by the usage after it. */
    reserved: z.object({ tokens: z.number().int(), costMicros: z.number().int() }),
  }),
  z.object({
    type: z.literal('model_responded'),
    at,
    proposal: proposalSchema,
    usage: usageSchema,
    model: z.string(),
    latencyMs: z.number(),
  }),
  z.object({
    type: z.literal('model_failed'),
    at,
    failure: modelFailureSchema,
    usage: usageSchema.optional(),
    latencyMs: z.number(),
  }),
  z.object({
    type: z.literal('finish_judged'),
    at,
    objection: z.string().optional(),
    /** It was about a citation: when the model does not do better, the claim is left out. */
    uncited: z.boolean().optional(),
    /** The reply with its citations rendered; beside an objection: what is left without the claims in question. */
    reply: z.string().optional(),
    /** What judges of its citations cost. */
    usage: usageSchema.optional(),
  }),
  z.object({ type: z.literal('calls_checked'), at, verdicts: z.array(callVerdictSchema).min(1) }),
  z.object({
    type: z.literal('call_started'),
    at,
    callId,
    /** After this moment the backend refuses a late arrival of this attempt. */
    validUntil: z.number().int().optional(),
  }),
  z.object({ type: z.literal('effect_refused'), at, callId, refusal: effectRefusalSchema }),
  z.object({
    type: z.literal('call_settled'),
    at,
    callId,
    result: callResultSchema,
    latencyMs: z.number(),
  }),
  z.object({ type: z.literal('verification_started'), at, callId }),
  z.object({
    type: z.literal('verification_read'),
    at,
    callId,
    read: verificationReadSchema,
    /** No further read will follow by itself. */
    final: z.boolean().default(false),
  }),
  z.object({ type: z.literal('turn_parked'), at, park: parkSchema }),
  z.object({
    type: z.literal('approval_decided'),
    at,
    approvalId: z.string(),
    decision: approvalDecisionSchema,
    by: z.string(),
    comment: z.string().optional(),
  }),
  /** The turn has stopped. Asked for by somebody, it holds both moments: when it was asked to, and when it did. */
  z.object({
    type: z.literal('stop_requested'),
    at,
    cause: z.enum(STOP_CAUSES),
    by: z.string().optional(),
    reason: z.string().optional(),
    requestedAt: at.optional(),
    /** What was under way when the request came, e.g. `issue_refund (2.1)` or `model`. */
    running: z.array(z.string()).optional(),
    how: z.enum(STOPPED_HOW).optional(),
  }),
  z.object({ type: z.literal('turn_failed'), at, code: z.string() }),
  z.object({
    type: z.literal('turn_ended'),
    at,
    ending: endingSchema,
    /** Where it stopped for lack of progress: rounds in all, and how many of them, or of their calls, were the same. */
    repetition: z.object({ rounds: z.number().int(), identical: z.number().int() }).optional(),
  }),
]);
export type TurnEvent = z.infer<typeof turnEventSchema>;
export type TurnEventType = TurnEvent['type'];
export type EventOf<T extends TurnEventType> = Extract<TurnEvent, { type: T }>;
export const TURN_EVENT_TYPES = turnEventSchema.options.map(
  (option) => option.shape.type.value,
) as TurnEventType[];
