import { z } from 'zod';
import { ticketMessageSchema } from '../../contracts/index.ts';
import { acceptMessage } from '../../producers/index.ts';
import type { MessageView } from '../../store/http-records.ts';
import { keyOf, maySee } from '../caller.ts';
import { notFound, notStored, Problem } from '../problem.ts';
import { anId, REFUSED, REUSED_KEY, REFUSED_BODY, type Api, type Parts } from '../parts.ts';

/** A message as it is handed in; its text is cut where it is taken over. */
const bodySchema = z.object({
  ...ticketMessageSchema.omit({ deliveryId: true }).shape,
  source: ticketMessageSchema.shape.source
    .optional()
    .describe('May be left out when the key is for one source'),
  text: z.string(),
});

const handedIn = z.object({
  id: z.string().describe('Our name of the message'),
  conversationId: z.string(),
  status: z.enum(['accepted', 'known']),
  turnId: z.string().nullable(),
  url: z.string().describe('Where to see what became of it'),
});

const messageSchema = z.object({
  id: z.string(),
  conversationId: z.string().nullable(),
  status: z.enum(['waiting', 'in_turn', 'answered']),
  turnId: z.string().nullable(),
  outcome: z.string().nullable(),
  reason: z.string().nullable(),
  turnUrl: z.string().nullable(),
});

const idempotencyKey = z.looseObject({
  'idempotency-key': z
    .string()
    .min(1)
    .max(512)
    .optional()
    .describe('Names this hand-over: a repeat under the same key is known, whatever became of it'),
});

export function addMessages(api: Api, { store, queues, http, meter }: Parts): void {
  api.route({
    method: 'POST',
    url: '/v1/messages',
    config: { access: ['ingest'] },
    schema: {
      operationId: 'handInMessage',
      summary: 'Hand a message in',
      description:
        '2xx: stored, and it will be answered. 503: not known to be stored; the same again is safe and doubles nothing.',
      tags: ['messages'],
      security: [{ key: [] }],
      headers: idempotencyKey,
      body: bodySchema,
      response: { 200: handedIn, 202: handedIn, ...REFUSED_BODY, ...REUSED_KEY },
    },
    handler: async (request, reply) => {
      const { source, ...rest } = request.body;
      const deliveryId = request.headers['idempotency-key'];
      const message = {
        ...rest,
        source: sourceFor(keyOf(request).source, source),
        ...(deliveryId === undefined ? {} : { deliveryId }),
      };
      const accepted = await acceptMessage(store, queues, message, {
        wakeLater: true,
        meter,
      }).catch((error: unknown) => {
        throw error instanceof Problem ? error : notStored(error);
      });
      const { kind: status, id, conversationId } = accepted;
      const stored = status === 'known' ? await http.message(id) : undefined;
      if (status === 'known' && stored === undefined) throw reusedKey(deliveryId);
      const turnId = stored?.turn?.turnId ?? accepted.turnId ?? null;
      const url = `/v1/messages/${id}`;
      return reply
        .code(status === 'accepted' ? 202 : 200)
        .header('location', url)
        .send({ id, conversationId, status, turnId, url });
    },
  });

  api.route({
    method: 'GET',
    url: '/v1/messages/:id',
    config: { access: ['ingest', 'operator', 'auditor'] },
    schema: {
      operationId: 'getMessage',
      summary: 'Where a message is, and which turn has it',
      tags: ['messages'],
      security: [{ key: [] }],
      params: z.object({ id: anId }),
      response: { 200: messageSchema, ...REFUSED },
    },
    handler: async (request) => {
      const message = await http.message(request.params.id);
      // A key for one source sees what is known to be of that source.
      if (message === undefined || !maySee(request, message.conversationId ?? '')) {
        throw notFound('message', request.params.id);
      }
      return viewOf(message);
    },
  });
}

function sourceFor(own: string | undefined, given: string | undefined): string {
  const source = given ?? own;
  if (source === undefined) {
    throw new Problem(400, {
      code: 'invalid_input',
      detail: 'source is missing: the key is for no source in particular',
      field: 'source',
      value: null,
      fix: 'name the system the message comes from, for example "zendesk"',
    });
  }
  if (own === undefined || own === source) return source;
  throw new Problem(403, {
    code: 'source_only',
    detail: `source is ${JSON.stringify(source)}, the key is for ${own} only`,
    field: 'source',
    value: source,
    fix: `leave it out, or use a key for ${source}`,
  });
}

function reusedKey(deliveryId: string | undefined): Problem {
  return new Problem(422, {
    code: 'idempotency_key_reused',
    detail: 'another message was handed in under this Idempotency-Key; this one was not stored',
    field: 'Idempotency-Key',
    value: deliveryId ?? null,
    fix: 'give each message a key of its own, or none: its messageId is enough',
  });
}

function viewOf({ id, conversationId, turn }: MessageView): z.infer<typeof messageSchema> {
  const status = turn === null ? 'waiting' : turn.outcome === null ? 'in_turn' : 'answered';
  return {
    ...{ id, conversationId, status },
    turnId: turn?.turnId ?? null,
    outcome: turn?.outcome ?? null,
    reason: turn?.reason ?? null,
    turnUrl: turn === null ? null : `/v1/turns/${turn.turnId}`,
  };
}
