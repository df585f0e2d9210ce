import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Approval } from '../../contracts/index.ts';
import type { ApprovalAnswer } from '../../store/index.ts';
import { audited, wantsRaw } from '../audited.ts';
import { keyOf, maySee } from '../caller.ts';
import {
  aReason,
  anId,
  CONFLICT,
  iso,
  isoOrNull,
  limitQuery,
  rawQuery,
  REFUSED,
  REFUSED_BODY,
  type Api,
  type Parts,
} from '../parts.ts';
import { notFound, Problem } from '../problem.ts';
import { redactedApproval } from '../redacted.ts';

const approvalSchema = z.object({
  id: z.string(),
  status: z.enum(['pending', 'approved', 'rejected', 'expired', 'cancelled']),
  conversationId: z.string(),
  turnId: z.string(),
  callId: z.string(),
  operation: z.string(),
  tool: z.string(),
  arguments: z.unknown().describe('The frozen action: exactly this runs'),
  actionHash: z.string(),
  reason: z.string().describe('Why a person is asked'),
  seen: z.unknown().describe('What the world looked like; compared again before it runs'),
  requestedAt: z.iso.datetime(),
  expiresAt: z.iso.datetime(),
  by: z.string().nullable(),
  decidedAt: z.iso.datetime().nullable(),
  comment: z.string().nullable(),
});

const decisionSchema = z.object({
  id: z.string(),
  status: z.enum(['approved', 'rejected', 'expired', 'cancelled']),
  by: z.string(),
  decidedAt: z.iso.datetime(),
  comment: z.string().nullable(),
  turnId: z.string(),
  already: z.boolean().describe('You had said so before; nothing was changed'),
});

const READERS = ['operator', 'approver', 'auditor'] as const;
const params = z.object({ id: anId });

export function addApprovals(api: Api, parts: Parts): void {
  const { records, audit } = parts;

  api.route({
    method: 'GET',
    url: '/v1/approvals',
    config: { access: READERS },
    schema: {
      operationId: 'listApprovals',
      summary: 'Requests nobody has decided yet, soonest expiry first',
      tags: ['approvals'],
      security: [{ key: [] }],
      querystring: z.object({ limit: limitQuery }),
      response: { 200: z.object({ approvals: z.array(approvalSchema) }), ...REFUSED },
    },
    handler: async (request) => {
      const pending = await records.pendingApprovals();
      const seen = pending.filter((one) => maySee(request, one.conversationId));
      return {
        approvals: seen.slice(0, request.query.limit).map((one) => viewOf(request, one, false)),
      };
    },
  });

  api.route({
    method: 'GET',
    url: '/v1/approvals/:id',
    config: { access: READERS },
    schema: {
      operationId: 'getApproval',
      summary: 'One request: the frozen action, why a person is asked, what the world looked like',
      tags: ['approvals'],
      security: [{ key: [] }],
      params,
      querystring: rawQuery,
      response: { 200: approvalSchema, ...REFUSED },
    },
    handler: async (request) => {
      const approval = await find(parts, request, request.params.id);
      const raw = await wantsRaw(audit, request, request.query, approval.id);
      return viewOf(request, approval, raw);
    },
  });

  addDecision(api, parts, {
    verb: 'approve',
    decision: 'approved',
    summary: 'Let the frozen action run; its checks are made again first',
    body: z.object({ comment: z.string().max(1_000).default('') }),
  });
  addDecision(api, parts, {
    verb: 'reject',
    decision: 'rejected',
    summary: 'Refuse it: the turn ends and a person takes the conversation over',
    body: z.object({ comment: aReason }),
  });
}

type Decision = {
  verb: 'approve' | 'reject';
  decision: 'approved' | 'rejected';
  summary: string;
  body: z.ZodType<{ comment: string }>;
};

function addDecision(api: Api, parts: Parts, { verb, decision, summary, body }: Decision): void {
  api.route({
    method: 'POST',
    url: `/v1/approvals/:id/${verb}`,
    config: { access: ['approver'] },
    schema: {
      operationId: verb,
      summary,
      tags: ['approvals'],
      security: [{ key: [] }],
      params,
      body,
      response: { 200: decisionSchema, ...REFUSED_BODY, ...CONFLICT },
    },
    handler: async (request) => {
      const { id } = await find(parts, request, request.params.id);
      const { comment } = request.body;
      const by = keyOf(request).name;
      const act = { action: `approval.${verb}`, object: id, reason: comment };
      const answer = await audited(parts.audit, request, act, () =>
        parts.operator.decideApproval(id, decision, { by, comment }),
      );
      return decided(id, answer, { by, decision });
    },
  });
}

async function find({ records }: Parts, request: FastifyRequest, id: string): Promise<Approval> {
  const approval = await records.approval(id);
  if (approval === undefined || !maySee(request, approval.conversationId)) {
    throw notFound('approval', id);
  }
  return approval;
}

/** Who was first stands; the same decision of the same person again is no conflict. */
function decided(
  id: string,
  answer: ApprovalAnswer,
  asked: { by: string; decision: 'approved' | 'rejected' },
): z.infer<typeof decisionSchema> {
  if (answer.kind === 'not_found' || answer.kind === 'not_due') throw notFound('approval', id);
  const { status, by, turnId } = answer;
  const same = status === asked.decision && (answer.kind === 'decided' || by === asked.by);
  const decidedAt = iso(answer.decidedAt);
  if (!same) {
    const detail =
      status === 'expired'
        ? 'this request has expired; the turn stops with reason approval_expired'
        : status === 'cancelled'
          ? 'its turn ended before anybody decided'
          : `${by} ${status} this at ${decidedAt}; you changed nothing`;
    throw new Problem(409, { code: `already_${status}`, detail });
  }
  const comment = answer.comment || null;
  return { id, status, by, decidedAt, comment, turnId, already: answer.kind === 'already' };
}

/** An approver sees what is decided as it is: the action and the state of the world are put to them, and to no one else. */
function viewOf(
  request: FastifyRequest,
  approval: Approval,
  raw: boolean,
): z.infer<typeof approvalSchema> {
  const whole = raw || keyOf(request).roles.includes('approver');
  const { requestedAt, expiresAt, ...rest } = whole ? approval : redactedApproval(approval);
  const decision = rest.status === 'pending' ? undefined : rest;
  return {
    ...rest,
    requestedAt: iso(requestedAt),
    expiresAt: iso(expiresAt),
    by: decision?.by ?? null,
    decidedAt: isoOrNull(decision?.decidedAt),
    comment: decision?.comment || null,
  };
}
