import { z } from 'zod';
import { acceptedMessageSchema } from '../../contracts/index.ts';
import { traceOf } from '../../telemetry/index.ts';
import type { TurnHead } from '../../store/http-records.ts';
import type { RecordEntry, TurnOnRecord } from '../../store/records.ts';
import { answerAct, actResult } from '../acts.ts';
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
import { notFound } from '../problem.ts';
import { redactedEvent, redactedMessage } from '../redacted.ts';

const headSchema = z.object({
  turnId: z.string(),
  conversationId: z.string(),
  outcome: z.string().nullable(),
  reason: z.string().nullable(),
  waitsFor: z.string().nullable().describe('What an open turn waits for'),
  startedAt: z.iso.datetime(),
  endedAt: z.iso.datetime().nullable(),
});

const turnSchema = headSchema.extend({
  phase: z.string(),
  open: z.boolean(),
  owner: z.enum(['agent', 'human']),
  messages: z.array(acceptedMessageSchema),
  events: z.number().int().describe('How many events are on record'),
});

const traceSchema = z.object({
  turnId: z.string(),
  spans: z.array(z.looseObject({ kind: z.string(), name: z.string(), status: z.string() })),
  openSpans: z.array(z.string()),
  /** As recorded, in order. */
  events: z.array(z.unknown()),
});

const READERS = ['operator', 'approver', 'auditor'] as const;
const params = z.object({ id: anId });

export function addTurns(api: Api, parts: Parts): void {
  const { records, http, audit, operator } = parts;

  api.route({
    method: 'GET',
    url: '/v1/turns',
    config: { access: READERS },
    schema: {
      operationId: 'listTurns',
      summary: 'Turns, the open ones first, then the newest',
      tags: ['turns'],
      security: [{ key: [] }],
      querystring: z.object({ open: z.stringbool().optional(), limit: limitQuery }),
      response: { 200: z.object({ turns: z.array(headSchema) }), ...REFUSED },
    },
    handler: async (request) => {
      const { open = false, limit } = request.query;
      const { source } = keyOf(request);
      const turns = await http.turns({ open, limit, ...(source === undefined ? {} : { source }) });
      return { turns: turns.map(headView) };
    },
  });

  api.route({
    method: 'GET',
    url: '/v1/turns/:id',
    config: { access: READERS },
    schema: {
      operationId: 'getTurn',
      summary: 'One turn: where it is, what it answers',
      tags: ['turns'],
      security: [{ key: [] }],
      params,
      querystring: rawQuery,
      response: { 200: turnSchema, ...REFUSED },
    },
    handler: async (request) => {
      const { id } = request.params;
      const turn = await records.onRecord(id);
      if (turn === undefined || !maySee(request, turn.conversationId)) throw notFound('turn', id);
      const raw = await wantsRaw(audit, request, request.query, id);
      return {
        ...turnHeadView(turn),
        phase: turn.phase,
        open: turn.open,
        owner: turn.holder.owner,
        messages: raw ? turn.messages : turn.messages.map(redactedMessage),
        events: turn.entries.length,
      };
    },
  });

  api.route({
    method: 'GET',
    url: '/v1/turns/:id/trace',
    config: { access: READERS },
    schema: {
      operationId: 'traceTurn',
      summary: 'Every step of a turn, as spans and as it was recorded',
      tags: ['turns'],
      security: [{ key: [] }],
      params,
      querystring: rawQuery,
      response: { 200: traceSchema, ...REFUSED },
    },
    handler: async (request) => {
      const { id } = request.params;
      const turn = await records.onRecord(id);
      if (turn === undefined || !maySee(request, turn.conversationId)) throw notFound('turn', id);
      const raw = await wantsRaw(audit, request, request.query, id);
      const readable = turn.entries.flatMap((entry) => ('event' in entry ? [entry.event] : []));
      const trace = traceOf(readable);
      return {
        turnId: id,
        spans: trace.spans,
        openSpans: [...trace.openSpans],
        events: turn.entries.map((entry) => entryView(entry, raw)),
      };
    },
  });

  api.route({
    method: 'POST',
    url: '/v1/turns/:id/cancel',
    config: { access: ['operator'] },
    schema: {
      operationId: 'cancelTurn',
      summary: 'Ask a turn to stop',
      description:
        'Two facts: that it was asked to, now, and that it has stopped, which its record says later. Nothing is rolled back.',
      tags: ['turns'],
      security: [{ key: [] }],
      params,
      body: z.object({ reason: aReason }),
      response: { 200: actResult, ...REFUSED_BODY, ...CONFLICT },
    },
    handler: async (request) => {
      const { id } = request.params;
      const { reason } = request.body;
      const turn = await http.turn(id);
      if (turn === undefined || !maySee(request, turn.conversationId)) throw notFound('turn', id);
      const act = { action: 'turn.cancel', object: id, reason };
      const by = keyOf(request).name;
      return answerAct(
        await audited(audit, request, act, () => operator.cancel(id, { by, reason })),
        'turn',
        id,
      );
    },
  });
}

function headView(turn: TurnHead): z.infer<typeof headSchema> {
  const { turnId, conversationId, outcome, reason, waitsFor, startedAt, endedAt } = turn;
  return {
    ...{ turnId, conversationId, outcome, reason, waitsFor },
    startedAt: iso(startedAt),
    endedAt: isoOrNull(endedAt),
  };
}

function turnHeadView(turn: TurnOnRecord): z.infer<typeof headSchema> {
  const { turnId, conversationId, outcome, reason, park, startedAt, endedAt } = turn;
  return {
    ...{ turnId, conversationId, outcome, reason },
    waitsFor: park?.kind ?? null,
    startedAt: iso(startedAt),
    endedAt: isoOrNull(endedAt),
  };
}

function entryView(entry: RecordEntry, raw: boolean): unknown {
  if ('event' in entry) return raw ? entry.event : redactedEvent(entry.event);
  return raw ? entry : { unreadable: true };
}
