import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { EFFECT_STATUSES, type LedgerRow } from '../../contracts/index.ts';
import { actResult, answerAct } from '../acts.ts';
import { audited, wantsRaw } from '../audited.ts';
import { keyOf, maySee } from '../caller.ts';
import {
  anId,
  CONFLICT,
  iso,
  isoOrNull,
  rawQuery,
  REFUSED,
  REFUSED_BODY,
  type Api,
  type Parts,
} from '../parts.ts';
import { notFound, Problem } from '../problem.ts';
import { redactedRow } from '../redacted.ts';

const rowSchema = z.object({
  operation: z.string(),
  tool: z.string(),
  resource: z.string(),
  occurrence: z.string(),
  status: z.enum(EFFECT_STATUSES),
  attempts: z.number().int(),
  conversationId: z.string(),
  turnId: z.string(),
  callId: z.string(),
  intent: z.string(),
  actionHash: z.string(),
  arguments: z.unknown(),
  outcome: z.unknown(),
  attemptedAt: z.iso.datetime(),
  settledAt: z.iso.datetime().nullable(),
  verifiedAt: z.iso.datetime().nullable(),
});

const READERS = ['operator', 'approver', 'auditor'] as const;
const params = z.object({ operation: anId });

export function addLedger(api: Api, parts: Parts): void {
  const { records, http, audit, operator } = parts;

  api.route({
    method: 'GET',
    url: '/v1/ledger',
    config: { access: READERS },
    schema: {
      operationId: 'listLedger',
      summary: 'What the agent really did in a conversation, or in one turn; oldest first',
      tags: ['ledger'],
      security: [{ key: [] }],
      querystring: rawQuery.extend({
        conversation: z.string().min(1).optional(),
        turn: anId.optional(),
      }),
      response: { 200: z.object({ effects: z.array(rowSchema) }), ...REFUSED },
    },
    handler: async (request) => {
      const { conversation, turn } = request.query;
      const id = await conversationOf(parts, request, { conversation, turn });
      const raw = await wantsRaw(audit, request, request.query, turn ?? id);
      const rows = await records.ledger(id);
      const wanted = rows.filter((row) => turn === undefined || row.turnId === turn);
      return { effects: wanted.map((row) => viewOf(row, raw)) };
    },
  });

  api.route({
    method: 'GET',
    url: '/v1/ledger/:operation',
    config: { access: READERS },
    schema: {
      operationId: 'getEffect',
      summary: 'One operation and what became of it',
      tags: ['ledger'],
      security: [{ key: [] }],
      params,
      querystring: rawQuery,
      response: { 200: rowSchema, ...REFUSED },
    },
    handler: async (request) => {
      const row = await find(parts, request, request.params.operation);
      const raw = await wantsRaw(audit, request, request.query, row.operation);
      return viewOf(row, raw);
    },
  });

  api.route({
    method: 'POST',
    url: '/v1/ledger/:operation/settle',
    config: { access: ['operator'] },
    schema: {
      operationId: 'settleEffect',
      summary: 'Say what became of an effect nobody could tell',
      tags: ['ledger'],
      security: [{ key: [] }],
      params,
      body: z.object({
        verdict: z.enum(['applied', 'not_applied']),
        evidence: z
          .string()
          .trim()
          .min(1, { error: 'say how you know, for example a transaction id' })
          .max(1_000),
      }),
      response: { 200: actResult, ...REFUSED_BODY, ...CONFLICT },
    },
    handler: async (request) => {
      const { operation } = await find(parts, request, request.params.operation);
      const { verdict, evidence } = request.body;
      const by = keyOf(request).name;
      const act = { action: `ledger.settle.${verdict}`, object: operation, reason: evidence };
      const result = await audited(audit, request, act, () =>
        operator.settleEffect(operation, verdict, { by, evidence }),
      );
      if (result.kind === 'already') {
        throw new Problem(409, {
          code: 'already',
          detail: 'it is known what became of this effect; you changed nothing',
        });
      }
      return answerAct(result, 'operation', operation);
    },
  });

  /** The conversation somebody asks about, by itself or by one of its turns. */
  async function conversationOf(
    { records: known }: Parts,
    request: FastifyRequest,
    asked: { conversation: string | undefined; turn: string | undefined },
  ): Promise<string> {
    if (asked.turn !== undefined) {
      const turn = await http.turn(asked.turn);
      if (turn !== undefined && maySee(request, turn.conversationId)) return turn.conversationId;
      throw notFound('turn', asked.turn);
    }
    if (asked.conversation === undefined) {
      throw new Problem(400, {
        code: 'invalid_input',
        detail: 'neither conversation nor turn is given',
        field: 'query',
        value: null,
        fix: 'add ?conversation=<source>/<id> or ?turn=<id>',
      });
    }
    const id = asked.conversation;
    const found = maySee(request, id) ? await known.conversation(id) : undefined;
    if (found === undefined) throw notFound('conversation', id);
    return id;
  }
}

async function find(
  { records }: Parts,
  request: FastifyRequest,
  operation: string,
): Promise<LedgerRow> {
  const row = await records.operation(operation);
  if (row === undefined || !maySee(request, row.conversationId)) {
    throw notFound('operation', operation);
  }
  return row;
}

function viewOf(row: LedgerRow, raw: boolean): z.infer<typeof rowSchema> {
  const { attemptedAt, settledAt, verifiedAt, outcome, ...rest } = raw ? row : redactedRow(row);
  return {
    ...rest,
    arguments: rest.arguments ?? null,
    outcome: outcome ?? null,
    attemptedAt: iso(attemptedAt),
    settledAt: isoOrNull(settledAt),
    verifiedAt: isoOrNull(verifiedAt),
  };
}
