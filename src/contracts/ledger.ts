import { z } from 'zod';

export const EFFECT_STATUSES = [
  'attempted',
  'applied',
  'rejected',
  'unknown',
  'verified',
  'not_landed',
] as const;
export type EffectStatus = (typeof EFFECT_STATUSES)[number];

/** One row of the ledger: what a mutating action did to the world. Also the audit log. */
export const ledgerRowSchema = z.object({
  /** Operation identity; also the idempotency key every attempt carries. */
  operation: z.string(),
  tool: z.string(),
  resource: z.string(),
  occurrence: z.string(),
  intent: z.string(),
  conversationId: z.string(),
  turnId: z.string(),
  callId: z.string(),
  /** SHA-256 over tool name and canonical arguments: tells a repeat from a conflict. */
  actionHash: z.string(),
  arguments: z.unknown(),
  status: z.enum(EFFECT_STATUSES),
  attempts: z.number().int().positive(),
  /** Milliseconds since the epoch after which the backend refuses a late arrival of this attempt. */
  validUntil: z.number().int().optional(),
  attemptedAt: z.number().int(),
  settledAt: z.number().int().optional(),
  verifiedAt: z.number().int().optional(),
  /** The person who settled what nobody could tell, and why one may believe it. */
  settledBy: z.string().optional(),
  evidence: z.string().optional(),
  /** What the tool said, capped. */
  outcome: z.unknown().optional(),
});
export type LedgerRow = z.infer<typeof ledgerRowSchema>;
