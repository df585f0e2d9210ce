import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { InvalidInputError } from '../../contracts/index.ts';
import { acceptMessage } from '../../producers/index.ts';
import {
  receive,
  tellOwn,
  type Answer,
  type Change,
  type Mapped,
  type Said,
  type Source,
} from '../../producers/ingress/index.ts';
import { conversationIdOf } from '../../store/index.ts';
import type { WebhookPort } from '../operator-port.ts';
import type { Api, Parts } from '../parts.ts';
import { notFound } from '../problem.ts';

export type WebhookOptions = {
  sources: readonly Source[];
  /** What systems call this service by, such as `https://agent.example.com`: some sign the address. */
  publicUrl?: string;
  webhooks?: WebhookPort;
};

/** Largest delivery in bytes: a mail with its attachments. */
const BODY_LIMIT = 25 * 1_048_576;

/** Deliveries of ticketing systems: checked on the bytes that came, stored message by message, then answered. */
export function addWebhooks(api: Api, parts: Parts, options: WebhookOptions): void {
  const sources = new Map(options.sources.map((source) => [source.name, source]));
  void api.register((hooks: Api, _none, done) => {
    hooks.removeAllContentTypeParsers();
    hooks.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, parsed) => {
      parsed(null, body);
    });
    hooks.route({
      method: 'POST',
      url: '/v1/webhooks/:source',
      bodyLimit: BODY_LIMIT,
      config: {
        access: 'public',
        // Turned away in the words of the system: some take a 503 for the end.
        pressureHandler: ({ params }: FastifyRequest, reply: FastifyReply) => {
          const source = sources.get((params as { source: string }).source);
          void say(reply, source?.adapter.answers.notStored ?? { status: 503 });
          return '';
        },
      },
      schema: {
        operationId: 'receiveDelivery',
        summary: 'What a ticketing system sends',
        description:
          'Proven by its own signature or secret. Answered with 2xx once everything in it is stored, known, or left alone on purpose.',
        tags: ['messages'],
        params: z.object({ source: z.string().max(64) }),
      },
      handler: async (request, reply) => {
        const source = sources.get(request.params.source);
        if (source === undefined) throw notFound('source', request.params.source);
        const rawBody = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
        const reception = await receive(source, {
          method: request.method,
          url: `${options.publicUrl ?? ''}${request.url}`,
          headers: request.headers,
          query: request.query as Record<string, unknown>,
          rawBody,
          receivedAt: parts.store.clock().now(),
        });
        const { log } = request;
        const count = (webhook_result: string): void => {
          const labels = { source: source.name };
          parts.meter.add('webhook_requests_total', { ...labels, webhook_result });
          parts.meter.observe('webhook_duration_seconds', labels, reply.elapsedTime / 1_000);
        };
        if (reception.kind === 'refused') {
          count(reception.reason);
          log.warn({ source: source.name, reason: reception.reason }, 'delivery refused');
          return say(reply, reception.answer).send('');
        }
        try {
          if (reception.kind === 'unreadable') {
            const { id } = await parts.letters.keep(source.name, reception.why, rawBody);
            count('invalid');
            log.warn({ source: source.name, letter: id }, 'delivery not understood');
            return await say(reply, reception.answer).send('');
          }
          const { mapped } = reception;
          const { bad, taken, known } = await take(parts, options.webhooks, source, mapped);
          count(resultOf(bad.length, taken, known));
          for (const why of bad) await parts.letters.keep(source.name, why, rawBody);
          return await say(reply, reception.answer).send(mapped.challenge ?? '');
        } catch (error) {
          count('unavailable');
          log.error({ source: source.name, err: error }, 'delivery not known to be stored');
          return say(reply, source.adapter.answers.notStored).send('');
        }
      },
    });
    done();
  });
}

function say(reply: FastifyReply, { status, headers = {} }: Answer): FastifyReply {
  return reply.code(status).headers({ 'content-type': 'text/plain; charset=utf-8', ...headers });
}

/**
 * Does what a delivery says, in its order. Whatever throws leaves the rest undone: the system sends all of it again, and
 * what was done is known then.
 *
 * @returns why messages of it can never be taken, and how many were new and how many known
 */
async function take(
  parts: Parts,
  port: WebhookPort | undefined,
  source: Source,
  mapped: Mapped,
): Promise<{ bad: string[]; taken: number; known: number }> {
  const { changes, takeovers, accept } = await withoutOurs(port, source, mapped);
  for (const change of changes) await changed(parts, port, source, change);
  for (const said of takeovers) await takenOver(parts, source, said);
  const bad: string[] = [];
  let [taken, known] = [0, 0];
  for (const message of accept) {
    try {
      const options = { wakeLater: true, meter: parts.meter };
      const { kind } = await acceptMessage(parts.store, parts.queues, message, options);
      if (kind === 'accepted') taken += 1;
      else known += 1;
    } catch (error) {
      if (!(error instanceof InvalidInputError)) throw error;
      bad.push(error.message);
    }
  }
  return { bad, taken, known };
}

/** One request may hold several messages: the most important thing about them counts. */
function resultOf(bad: number, taken: number, known: number): string {
  if (bad > 0) return 'invalid';
  if (taken > 0) return 'accepted';
  return known > 0 ? 'duplicate' : 'ignored';
}

async function withoutOurs(
  port: WebhookPort | undefined,
  source: Source,
  mapped: Mapped,
): Promise<Mapped> {
  if (port === undefined) return mapped;
  const ids = [...mapped.accept, ...mapped.takeovers, ...mapped.ignored].flatMap((one) =>
    'why' in one ? (one.said?.conversationId ?? []) : one.conversationId,
  );
  if (ids.length === 0) return mapped;
  const posted = new Map(
    await Promise.all(
      [...new Set(ids)].map(
        async (id) => [id, await port.posted(conversationIdOf(source.name, id))] as const,
      ),
    ),
  );
  const nothing = { ids: new Set<string>(), sending: false };
  return tellOwn(mapped, (id) => posted.get(id) ?? nothing);
}

/** A person of the staff has written to the customer: theirs from now on, and what they wrote is remembered. */
async function takenOver({ operator }: Parts, source: Source, said: Said): Promise<void> {
  const { conversationId, messageId, by, text } = said;
  await operator.takeOver(conversationIdOf(source.name, conversationId), {
    by: `${source.name}: ${by}`,
    reason: 'wrote to the customer in the ticketing system',
    message: { messageId, text },
  });
}

async function changed(
  { operator }: Parts,
  port: WebhookPort | undefined,
  source: Source,
  change: Change,
): Promise<void> {
  const conversationId = conversationIdOf(source.name, change.conversationId);
  if (change.change === 'with_people') {
    await operator.takeOver(conversationId, {
      by: source.name,
      reason: 'the ticketing system gave it to people',
    });
    return;
  }
  const { into } = change;
  await port?.changed(conversationId, {
    change: change.change,
    ...(into === undefined ? {} : { into: conversationIdOf(source.name, into) }),
  });
}
