import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { takeIn, type Intake } from '../../producers/take-in.ts';
import { receive, type Answer, type Source } from '../../producers/ingress/index.ts';
import type { WebhookPort } from '../operator-port.ts';
import { REFUSED, REFUSED_BODY, type Api, type Parts } from '../parts.ts';
import { notFound } from '../problem.ts';

export type WebhookOptions = {
  sources: readonly Source[];
  /** What systems call this service by, such as `https://agent.example.com`: some sign the address. */
  publicUrl?: string;
  webhooks?: WebhookPort;
};

/** What is known of our own posts where nobody keeps them. */
const NOTHING = { ids: new Set<string>(), sending: false };

/** Largest delivery in bytes: a mail with its attachments. */
const BODY_LIMIT = 25 * 1_048_576;

/** Deliveries of ticketing systems: checked on the bytes that came, stored message by message, then answered. */
export function addWebhooks(api: Api, parts: Parts, options: WebhookOptions): void {
  const sources = new Map(options.sources.map((source) => [source.name, source]));
  /** How requests came out that were looked at. */
  const results = new WeakMap<FastifyRequest, string>();
  void api.register((hooks: Api, _none, done) => {
    hooks.removeAllContentTypeParsers();
    hooks.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, parsed) => {
      parsed(null, body);
    });
    hooks.route({
      method: 'POST',
      url: '/v1/webhooks/:source',
      bodyLimit: BODY_LIMIT,
      onResponse: (request, reply, done) => {
        const webhook_result = results.get(request) ?? TURNED_AWAY[reply.statusCode];
        const { source } = request.params as { source: string };
        if (webhook_result !== undefined && sources.has(source)) {
          parts.meter.add('webhook_requests_total', { source, webhook_result });
          parts.meter.observe('webhook_duration_seconds', { source }, reply.elapsedTime / 1_000);
        }
        done();
      },
      config: {
        access: 'public',
        // Turned away in the words of the system: some take a 503 for the end.
        pressureHandler: (request: FastifyRequest, reply: FastifyReply) => {
          const source = sources.get((request.params as { source: string }).source);
          results.set(request, 'shed');
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
        response: ANSWERED,
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
        const { operator, store, queues, meter } = parts;
        const intake: Intake = {
          ...{ store, queues, meter },
          operator: {
            takeOver: (id, act) => operator.takeOver(id, act),
            ticketChanged: async (id, what) => options.webhooks?.changed(id, what),
          },
          posted: async (id) => (await options.webhooks?.posted(id)) ?? NOTHING,
        };
        const { log } = request;
        const count = (result: string): unknown => results.set(request, result);
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
          const { bad, accepted, known } = await takeIn(intake, source, mapped);
          count(resultOf(bad.length, accepted, known));
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

const inItsWords = (description: string) => ({
  description,
  content: { 'text/plain': { schema: z.string() } },
});

const ANSWERED = {
  200: inItsWords('Stored, known before, left alone on purpose, or kept as a dead letter'),
  401: inItsWords('Its signature, secret or time stamp does not prove it'),
  404: REFUSED[404],
  413: REFUSED_BODY[413],
  429: REFUSED[429],
  500: inItsWords(
    'Not known to be stored; for systems that repeat after this one and not after 503',
  ),
  503: inItsWords('Not known to be stored: the same again is safe'),
};

/** What never got as far as being looked at, by the status it was answered with. */
const TURNED_AWAY: Readonly<Record<number, string>> = { 413: 'too_large', 429: 'rate_limited' };

function say(reply: FastifyReply, { status, headers = {} }: Answer): FastifyReply {
  return reply.code(status).headers({ 'content-type': 'text/plain; charset=utf-8', ...headers });
}

/** One request may hold several messages: the most important thing about them counts. */
function resultOf(bad: number, accepted: number, known: number): string {
  if (bad > 0) return 'invalid';
  if (accepted > 0) return 'accepted';
  return known > 0 ? 'duplicate' : 'ignored';
}
