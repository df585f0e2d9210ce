import { z } from 'zod';

export const approvalDecisionSchema = z.enum(['approved', 'rejected', 'expired', 'cancelled']);
export type ApprovalDecision = z.infer<typeof approvalDecisionSchema>;

const pending = z.object({
  id: z.string(),
  conversationId: z.string(),
  turnId: z.string(),
  callId: z.string(),
  tool: z.string(),
  /** The frozen arguments as the tool gets them: what runs after an approval is this, not what the model says then. */
  arguments: z.unknown(),
  actionHash: z.string(),
  operation: z.string(),
  reason: z.string(),
  /** Where each value came from; `null`: nobody can tell. */
  origins: z.record(z.string(), z.string().nullable()).optional(),
  /** Version of the policy that asks: a decision holds for this version only. */
  policy: z.string().optional(),
  /** What the approver sees of the world; compared again when the approval comes back. */
  seen: z.unknown(),
  requestedAt: z.number().int(),
  expiresAt: z.number().int(),
});
const decided = pending.extend({
  by: z.string(),
  decidedAt: z.number().int(),
  comment: z.string().optional(),
});

/** A request for a person's yes. Decided exactly once. */
export const approvalSchema = z.discriminatedUnion('status', [
  pending.extend({ status: z.literal('pending') }),
  decided.extend({ status: z.literal('approved') }),
  decided.extend({ status: z.literal('rejected') }),
  decided.extend({ status: z.literal('expired') }),
  decided.extend({ status: z.literal('cancelled') }),
]);
export type Approval = z.infer<typeof approvalSchema>;
export type ApprovalStatus = Approval['status'];
export const approvalRequestSchema = pending;
export type ApprovalRequest = z.infer<typeof approvalRequestSchema>;
