import { z } from 'zod';
import { defineAdapter, DAY_MS } from '../adapter.ts';
import { anything, id, maybe, nothing, text, type Fact, type MessageFact } from '../facts.ts';
import { bodyKey, type WebhookRequest } from '../request.ts';
import { shared } from '../signature.ts';
import { looksLikeHtml, type Body } from '../text/index.ts';

/** "Simple" content: flat names under one key. */
const simple = z.object({
  freshdesk_webhook: z.object({
    ticket_id: id,
    ticket_subject: text,
    ticket_description: text,
    ticket_source: text,
    ticket_latest_public_comment: text,
    ticket_contact_name: text,
    ticket_contact_email: text,
    triggered_event: text,
  }),
});

/** "Advanced" content, as the rule has to be written: placeholders, so all of it is text. */
const advanced = z.object({
  ticket_id: id,
  ticket_subject: text,
  requester_email: text,
  requester_name: text,
  latest_public_comment: text,
  triggered_event: text,
});

const replies = z.array(
  z.object({
    id,
    body: text,
    body_text: text,
    incoming: z.boolean(),
    private: z.boolean(),
    user_id: maybe(id),
    attachments: maybe(
      z.array(z.object({ name: z.string(), content_type: text, size: maybe(z.number()) })),
    ),
  }),
);

type Ticket = {
  ticket: string;
  subject: string | undefined;
  description?: string | undefined;
  comment: string | undefined;
  name: string | undefined;
  email: string | undefined;
  event: string | undefined;
};

export const freshdesk = defineAdapter({
  verify: shared,
  redelivery: { by: 'source', forMs: DAY_MS },
  own: 'authors',
  facts(payload, request) {
    const ticket = readTicket(payload);
    const event = ticket.event ?? '';
    if (event.includes('ticket_action:created')) return [created(ticket)];
    if (event.includes('reply_sent') || event.includes('note_type:public')) {
      return [replied(ticket, request)];
    }
    return [nothing('no_message', ticket.ticket)];
  },
  reread: {
    path: ({ conversationId }) =>
      `/api/v2/tickets/${encodeURIComponent(conversationId)}/conversations?per_page=100`,
    facts: (answer, { conversationId }) =>
      replies.parse(answer).map((reply): Fact => ({
        fact: 'message',
        conversationId,
        messageId: reply.id,
        author: { kind: reply.incoming ? 'customer' : 'agent', id: reply.user_id },
        body: {
          text: reply.body_text,
          html: reply.body,
          attachments: (reply.attachments ?? []).map((file) => ({
            name: file.name,
            type: file.content_type,
            bytes: file.size,
          })),
          mail: true,
        },
        internal: reply.private,
      })),
  },
});

function readTicket(payload: unknown): Ticket {
  if (z.object({ freshdesk_webhook: anything }).parse(payload).freshdesk_webhook === undefined) {
    const flat = advanced.parse(payload);
    return {
      ticket: flat.ticket_id,
      subject: flat.ticket_subject,
      comment: flat.latest_public_comment,
      name: flat.requester_name,
      email: flat.requester_email,
      event: flat.triggered_event,
    };
  }
  const { freshdesk_webhook: flat } = simple.parse(payload);
  return {
    ticket: flat.ticket_id,
    subject: flat.ticket_subject,
    description: flat.ticket_description,
    comment: flat.ticket_latest_public_comment,
    name: flat.ticket_contact_name,
    email: flat.ticket_contact_email,
    event: flat.triggered_event,
  };
}

/** A ticket has one description, and no reply is called that. */
function created(ticket: Ticket): Fact {
  const first = ticket.description ?? spoken(ticket);
  return messageFact(
    ticket,
    'description',
    looksLikeHtml(first) ? { html: first } : { text: first },
  );
}

/** Neither who wrote nor which message it is stands in the payload: the rule's condition and a re-read have to say so. */
function replied(ticket: Ticket, request: WebhookRequest): Fact {
  const fact = messageFact(ticket, bodyKey(request), { text: spoken(ticket) });
  return { ...fact, missing: ['messageId', 'author'] };
}

function messageFact(
  { ticket, subject, email }: Ticket,
  messageId: string,
  body: Body,
): MessageFact {
  return {
    fact: 'message',
    conversationId: ticket,
    messageId,
    author: { kind: 'customer', email },
    body: { ...body, mail: true },
    subject,
  };
}

/** The latest comment begins with the name of who wrote it. */
function spoken({ comment = '', name }: Ticket): string {
  const prefix = `${name ?? ''} : `;
  return name !== undefined && comment.startsWith(prefix) ? comment.slice(prefix.length) : comment;
}
