import { z } from 'zod';
import { actResult, answerAct } from '../acts.ts';
import { audited } from '../audited.ts';
import { keyOf, maySee } from '../caller.ts';
import {
  aReason,
  CONFLICT,
  iso,
  isoOrNull,
  limitQuery,
  REFUSED,
  REFUSED_BODY,
  type Api,
  type Parts,
} from '../parts.ts';
import { notFound } from '../problem.ts';
import type { ActResult } from '../operator-port.ts';

const holderSchema = z.object({
  owner: z.enum(['agent', 'human']),
  worker: z.enum(['none', 'alive', 'lost']),
  heldUntil: z.iso.datetime().nullable(),
});

const conversationSchema = z.object({
  conversationId: z.string(),
  openTurn: z.string().nullable(),
  lastTurn: z.string().nullable(),
  waiting: z.number().int().describe('Accepted messages nobody has answered yet'),
  oldestWaitingSince: z.iso.datetime().nullable(),
  holder: holderSchema,
});

const blockedSchema = z.object({
  conversationId: z.string(),
  turnId: z.string().describe('Empty while no worker has taken the conversation'),
  phase: z.string(),
  since: z.iso.datetime(),
  behind: z.number().int().describe('Messages behind the open turn'),
  oldestWaitingSince: z.iso.datetime().nullable(),
  waitsFor: z.string().nullable(),
  holder: holderSchema,
});

const READERS = ['operator', 'approver', 'auditor'] as const;
const params = z.object({
  source: z.string().min(1).max(32),
  conversation: z.string().min(1).max(128),
});

export function addConversations(api: Api, parts: Parts): void {
  const { records } = parts;

  api.route({
    method: 'GET',
    url: '/v1/conversations',
    config: { access: READERS },
    schema: {
      operationId: 'listWaiting',
      summary: 'Conversations in which somebody waits, longest first',
      tags: ['conversations'],
      security: [{ key: [] }],
      querystring: z.object({ limit: limitQuery }),
      response: { 200: z.object({ conversations: z.array(blockedSchema) }), ...REFUSED },
    },
    handler: async (request) => {
      const blocked = await records.blocked();
      const seen = blocked.filter((one) => maySee(request, one.conversationId));
      return {
        conversations: seen.slice(0, request.query.limit).map((one) => ({
          conversationId: one.conversationId,
          turnId: one.turnId,
          phase: one.phase,
          since: iso(one.since),
          behind: one.behind,
          oldestWaitingSince: isoOrNull(one.oldestWaitingSince),
          waitsFor: one.park?.kind ?? null,
          holder: { ...one.holder, heldUntil: isoOrNull(one.holder.heldUntil) },
        })),
      };
    },
  });

  api.route({
    method: 'GET',
    url: '/v1/conversations/:source/:conversation',
    config: { access: READERS },
    schema: {
      operationId: 'getConversation',
      summary: 'One conversation: who has it, what waits',
      tags: ['conversations'],
      security: [{ key: [] }],
      params,
      response: { 200: conversationSchema, ...REFUSED },
    },
    handler: async (request) => {
      const id = idOf(request.params);
      const found = maySee(request, id) ? await records.conversation(id) : undefined;
      if (found === undefined) throw notFound('conversation', id);
      return {
        ...found,
        oldestWaitingSince: isoOrNull(found.oldestWaitingSince),
        holder: { ...found.holder, heldUntil: isoOrNull(found.holder.heldUntil) },
      };
    },
  });

  addMove(api, parts, {
    verb: 'takeover',
    operationId: 'takeOver',
    summary: 'Give a conversation to people: nothing is started in it any more',
    perform: ({ operator }, id, act) => operator.takeOver(id, act),
  });
  addMove(api, parts, {
    verb: 'release',
    operationId: 'release',
    summary: 'Give a conversation back to the agent',
    perform: async ({ operator }, id, act) => ({ kind: await operator.release(id, act) }),
  });
}

type Move = {
  verb: 'takeover' | 'release';
  operationId: string;
  summary: string;
  perform(parts: Parts, id: string, act: { by: string; reason: string }): Promise<ActResult>;
};

function addMove(api: Api, parts: Parts, { verb, operationId, summary, perform }: Move): void {
  api.route({
    method: 'POST',
    url: `/v1/conversations/:source/:conversation/${verb}`,
    config: { access: ['operator'] },
    schema: {
      operationId,
      summary,
      tags: ['conversations'],
      security: [{ key: [] }],
      params,
      body: z.object({ reason: aReason }),
      response: { 200: actResult, ...REFUSED_BODY, ...CONFLICT },
    },
    handler: async (request) => {
      const id = idOf(request.params);
      const { reason } = request.body;
      const found = maySee(request, id) ? await parts.records.conversation(id) : undefined;
      if (found === undefined) throw notFound('conversation', id);
      const by = keyOf(request).name;
      const act = { action: `conversation.${verb}`, object: id, reason };
      const result = await audited(parts.audit, request, act, () =>
        perform(parts, id, { by, reason }),
      );
      return answerAct(result, 'conversation', id);
    },
  });
}

function idOf({ source, conversation }: z.infer<typeof params>): string {
  return `${source}/${conversation}`;
}
