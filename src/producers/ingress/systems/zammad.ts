import { z } from 'zod';
import { defineAdapter, HOUR_MS } from '../adapter.ts';
import { anything, id, maybe, nothing, text, type Fact } from '../facts.ts';
import { header } from '../request.ts';
import { hmac } from '../signature.ts';

const payload = z.object({
  ticket: z.object({ id, title: text, state: anything }),
  // A trigger on a ticket without a new article sends an empty one.
  article: maybe(
    z.object({
      id: maybe(id),
      body: text,
      content_type: text,
      sender: text,
      internal: maybe(z.boolean()),
      type: text,
      created_by_id: maybe(id),
      created_by: maybe(z.object({ email: text })),
      attachments: maybe(
        z.array(
          z.object({
            filename: z.string(),
            size: z.coerce.number().catch(0),
            preferences: maybe(z.record(z.string(), z.unknown())),
          }),
        ),
      ),
    }),
  ),
});

const SENDERS = { Customer: 'customer', Agent: 'agent', System: 'machine' } as const;
const sender = z.enum(['Customer', 'Agent', 'System']);

export const zammad = defineAdapter({
  verify: hmac({
    header: 'x-hub-signature',
    prefix: 'sha1=',
    signed: ['body'],
    hash: 'sha1',
    encoding: 'hex',
  }),
  redelivery: { by: 'source', forMs: HOUR_MS },
  own: 'authors',
  facts(body, request) {
    const { ticket, article } = payload.parse(body);
    // Into which one it does not say.
    const merged: Fact[] =
      ticket.state === 'merged'
        ? [{ fact: 'change', change: 'merged', conversationId: ticket.id }]
        : [];
    // What is written by a merge is a note about it.
    if (merged.length > 0 && article?.sender !== 'Customer') return merged;
    if (article?.id === undefined) return [nothing('no_message', ticket.id)];
    const html = article.content_type === 'text/html';
    return [
      ...merged,
      {
        fact: 'message',
        // The number is for people: the API takes the id.
        conversationId: ticket.id,
        messageId: article.id,
        deliveryId: header(request, 'x-zammad-delivery'),
        author: {
          kind: SENDERS[sender.parse(article.sender)],
          id: article.created_by_id,
          email: article.created_by?.email,
        },
        body: {
          ...(html ? { html: article.body } : { text: article.body }),
          attachments: (article.attachments ?? []).map(({ filename, size, preferences }) => {
            const type = preferences?.['Mime-Type'];
            return {
              name: filename,
              bytes: size,
              type: typeof type === 'string' ? type : undefined,
            };
          }),
          mail: article.type === 'email',
        },
        subject: ticket.title,
        channel: article.type,
        internal: article.internal === true,
      },
    ];
  },
});
