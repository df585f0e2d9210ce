import type { Approval } from '../contracts/index.ts';
import { lookAlikes } from './look-alikes.ts';
import { iso, isoOrNull } from './wording.ts';

/** The JSON of an approval. */
export type ApprovalView = {
  id: string;
  status: Approval['status'];
  conversationId: string;
  turnId: string;
  callId: string;
  tool: string;
  /** What runs after a yes: frozen when it was asked for. */
  arguments: unknown;
  actionHash: string;
  /** Where each value came from; a value of null: nobody can tell. Null in all: it was not on record then. */
  origins: Readonly<Record<string, string | null>> | null;
  /** Version of the policy that asks; a yes holds for no other one. */
  policy: string | null;
  /** Words in it whose letters look like others, and what they are made of. */
  lookAlikes: string[];
  operation: string;
  /** Why a person is asked. */
  reason: string;
  /** The state of the world when it was asked for; compared again before anything runs. */
  seen: unknown;
  requestedAt: string;
  expiresAt: string;
  by: string | null;
  decidedAt: string | null;
  comment: string | null;
};

export function approvalView(approval: Approval): ApprovalView {
  const { id, status, conversationId, turnId, callId, tool, operation, reason, seen } = approval;
  const decided = approval.status === 'pending' ? undefined : approval;
  return {
    ...{ id, status, conversationId, turnId, callId, tool },
    ...{ arguments: approval.arguments, actionHash: approval.actionHash },
    ...{ origins: approval.origins ?? null, policy: approval.policy ?? null },
    lookAlikes: lookAlikes([approval.arguments, reason, seen]),
    ...{ operation, reason, seen: seen ?? null },
    requestedAt: iso(approval.requestedAt),
    expiresAt: iso(approval.expiresAt),
    by: decided?.by ?? null,
    decidedAt: isoOrNull(decided?.decidedAt),
    comment: decided?.comment || null,
  };
}
