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
    calls: z.array(proposedCallSchema).min(1).max(32),
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

/** Every way a model call can end without a proposal. */
export const MODEL_FAILURES = [
  'refusal',
  'max_tokens',
  'context_overflow',
  'unknown_stop_reason',
  'empty_reply',
  'invalid_proposal',
  'timeout',
  'silence',
  'rate_limited',
  'unavailable',
] as const;
export type ModelFailureKind = (typeof MODEL_FAILURES)[number];

export const modelFailureSchema = z.object({
  kind: z.enum(MODEL_FAILURES),
  /** Fixed text of ours or the provider's code; never a response body. */
  detail: z.string().max(300).optional(),
  /** When the provider asked us to come back, milliseconds since the epoch. */
  retryAt: z.number().int().optional(),
});
export type ModelFailure = z.infer<typeof modelFailureSchema>;
