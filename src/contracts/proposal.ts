import { z } from 'zod';

/** One tool call the model asks for. A wish, not a permission. */
export const proposedCallSchema = z.object({
  id: z.string().min(1).max(128),
  tool: z.string().min(1).max(128),
  arguments: z.unknown(),
});
export type ProposedCall = z.infer<typeof proposedCallSchema>;

/** A statement in the reply and the call ids (or document ranges) that support it. */
export const claimSchema = z.object({ text: z.string().min(1), evidence: z.array(z.string()) });
export type Claim = z.infer<typeof claimSchema>;

/** What a model may propose. Free text that fits none of these is no proposal. */
export const proposalSchema = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('tool_calls'),
    calls: z
      .array(proposedCallSchema)
      .min(1)
      .max(32)
      .refine((calls) => new Set(calls.map(({ id }) => id)).size === calls.length, {
        error: 'two calls have the same id',
      }),
    rationale: z.string().max(500).optional(),
  }),
  z.object({ kind: z.literal('ask_customer'), text: z.string() }),
  z.object({
    kind: z.literal('finish_candidate'),
    reply: z.string(),
    claims: z.array(claimSchema).default([]),
    /** `no_answer`: the reply is the menu of what the agent can still do. `no_reply_needed`: nothing is sent. */
    as: z.enum(['replied', 'no_answer', 'no_reply_needed']).default('replied'),
  }),
  z.object({ kind: z.literal('escalate'), rationale: z.string().max(500) }),
  z.object({ kind: z.literal('refuse'), reply: z.string() }),
]);
export type Proposal = z.infer<typeof proposalSchema>;
export type ProposalInput = z.input<typeof proposalSchema>;

/** What one model call cost. Money in micro-dollars, so that sums are exact. */
export const usageSchema = z.object({
  inputTokens: z.number().int().nonnegative(),
  outputTokens: z.number().int().nonnegative(),
  costMicros: z.number().int().nonnegative(),
});
export type Usage = z.infer<typeof usageSchema>;

/**
 * Every way a model call can end without a proposal. Providers map what they see to one of these; how a turn goes on
 * after each stands in the loop.
 */
export const MODEL_FAILURES = [
  /** The model declined to answer. */
  'refusal',
  /** The provider withheld the answer. */
  'content_filter',
  /** The answer was cut at its length limit. */
  'max_tokens',
  /** The request does not fit the model's context. */
  'context_overflow',
  /** The context was full before the answer was complete. */
  'overflow_mid_generation',
  /** A finish reason that is mapped to nothing; `detail` keeps it. */
  'unknown_stop_reason',
  'empty_reply',
  /** The answer is no proposal: unreadable arguments, nothing usable. */
  'invalid_proposal',
  /** No answer within the time of the call. */
  'timeout',
  /** Nothing came for longer than the call may be silent. */
  'silence',
  /** Too many requests or tokens a minute. */
  'rate_limited',
  /** Too many requests at a time. */
  'concurrency_limited',
  /** The account has no money or allowance left. */
  'quota_exhausted',
  'authentication_failed',
  /** The endpoint does not take the request as it is: wrong model, address or parameter. */
  'request_rejected',
  /** The provider is busy beyond this account. */
  'overloaded',
  'server_error',
  'network_failure',
  /** Not asked: the account is known to be limited until `retryAt`. */
  'account_limited',
  /** Not asked: the endpoint failed so often that it gets a rest. */
  'unavailable',
  /** The call was stopped from our side. */
  'aborted',
] as const;
export type ModelFailureKind = (typeof MODEL_FAILURES)[number];

export const modelFailureSchema = z.object({
  kind: z.enum(MODEL_FAILURES),
  /** Fixed text of ours or the provider's code; never a response body. */
  detail: z.string().max(300).optional(),
  /** When the provider asked us to come back, milliseconds since the epoch. */
  retryAt: z.number().int().optional(),
  /** The call ignored its end and was left behind; it may still be running. */
  abandoned: z.boolean().optional(),
});
export type ModelFailure = z.infer<typeof modelFailureSchema>;
