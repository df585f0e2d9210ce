import { once } from 'node:events';
import type { SSEMessage } from '@fastify/sse';
import { z } from 'zod';
import { wantsRaw } from '../audited.ts';
import { maySee } from '../caller.ts';
import { anId, rawQuery, REFUSED, refusal, type Api, type Parts } from '../parts.ts';
import { notFound } from '../problem.ts';
import { redactedEvent } from '../redacted.ts';
import type { TurnFeedPort } from '../operator-port.ts';

/**
 * The events of a turn as a stream. It breaks off after `streamMs`: whoever listens comes back with Last-Event-ID and shows
 * the key again, so that a revoked one sees nothing more.
 */
export function addTurnEvents(
  api: Api,
  { http, audit, feed }: Parts,
  { streamMs }: { streamMs: number },
): void {
  const streams = new Set<AbortController>();
  api.addHook('preClose', (done) => {
    for (const stream of streams) stream.abort();
    done();
  });

  api.route({
    method: 'GET',
    url: '/v1/turns/:id/events',
    sse: 'only',
    config: { access: ['operator', 'approver', 'auditor'] },
    schema: {
      operationId: 'followTurn',
      summary: 'The events of a turn, those on record first, then as they happen',
      description:
        'Server-sent events; `id` counts from 1, `event` is the type. Goes on behind Last-Event-ID and ends with the turn. ' +
        'In between, `model_writing` without an id: the last part of what the model is writing, masked, kept nowhere.',
      tags: ['turns'],
      security: [{ key: [] }],
      params: z.object({ id: anId }),
      querystring: rawQuery,
      response: {
        200: {
          description: 'A stream of events',
          content: { 'text/event-stream': { schema: z.string() } },
        },
        ...REFUSED,
        406: refusal('Only a stream of events is to be had here: send Accept: text/event-stream'),
      },
    },
    handler: async (request, reply) => {
      const { id } = request.params;
      const turn = await http.turn(id);
      if (turn === undefined || !maySee(request, turn.conversationId)) throw notFound('turn', id);
      const raw = await wantsRaw(audit, request, request.query, id);
      const after = Number(/^\d{1,9}$/.exec(reply.sse.lastEventId ?? '')?.[0] ?? 0);
      const stream = new AbortController();
      streams.add(stream);
      reply.sse.onClose(() => stream.abort());
      const timer = setTimeout(() => stream.abort(), streamMs);
      const events = messages(feed, { id, after, raw, signal: stream.signal });
      try {
        // The answer starts at once, also when nothing has happened yet; its connection goes with it.
        reply.header('connection', 'close').sse.sendHeaders();
        // A reader that stopped reading and went away is never waited for.
        await Promise.race([reply.sse.send(events), once(stream.signal, 'abort')]);
      } finally {
        stream.abort();
        clearTimeout(timer);
        streams.delete(stream);
        await events.return(undefined);
      }
    },
  });
}

async function* messages(
  feed: TurnFeedPort,
  turn: { id: string; after: number; raw: boolean; signal: AbortSignal },
): AsyncGenerator<SSEMessage> {
  const { id, raw, signal } = turn;
  let seq = turn.after;
  for await (const event of feed.follow(id, signal, seq)) {
    if (event.type === 'model_writing') {
      yield { event: event.type, data: { text: event.text } };
      continue;
    }
    seq += 1;
    yield { id: String(seq), event: event.type, data: raw ? event : redactedEvent(event) };
  }
  // Tells a stream that broke off from a turn that is over.
  if (!signal.aborted) yield { event: 'end', data: { turnId: id } };
}
