import { z } from 'zod';
import { defineAdapter, HOUR_MS } from '../adapter.ts';
import { anything, id, maybe, nothing, text, type Author, type Fact } from '../facts.ts';
import { bodyKey, header, type WebhookRequest } from '../request.ts';
import { hmac } from '../signature.ts';

const EVENT = 'zen:event-type:';

const event = z.object({
  type: z.string().startsWith(EVENT),
  id: z.string(),
  detail: z.object({
    id,
    subject: text,
    description: text,
    is_public: maybe(z.boolean()),
    requester_id: maybe(id),
    submitter_id: maybe(id),
    via: maybe(z.object({ channel: text })),
  }),
  event: z.object({
    comment: maybe(
      z.object({
        id,
        body: text,
        is_public: z.boolean(),
        author: z.object({ id, is_staff: z.boolean() }),
      }),
    ),
    meta: maybe(z.object({ sequence: z.object({ id: z.string() }) })),
    actor: maybe(z.object({ id, type: z.string() })),
    message: maybe(z.object({ id, body: text })),
    current: anything,
    previous: anything,
    /** Of a merge; without it the work of the merged ticket is cancelled and not moved. */
    target_ticket_id: maybe(id),
  }),
});
type Event = z.output<typeof event>;

/** What the trigger has to send: every value a placeholder, so every value is text. */
const trigger = z.object({
  ticket_id: id,
  subject: text,
  via: text,
  current_user: z.object({ id: maybe(id), email: text, role: z.string() }),
  latest_comment: text,
  latest_comment_html: text,
  latest_comment_is_public: z.string(),
});

const comments = z.object({
  comments: z.array(
    z.object({
      id,
      author_id: id,
      plain_body: text,
      html_body: text,
      public: z.boolean(),
      attachments: maybe(z.array(z.object({ file_name: z.string(), content_type: text }))),
    }),
  ),
  users: z.array(z.object({ id, role: z.string(), email: text })),
});

export const zendesk = defineAdapter({
  verify: hmac({
    header: 'x-zendesk-webhook-signature',
    stamp: { header: 'x-zendesk-webhook-signature-timestamp', unit: 'iso' },
    signed: ['stamp', 'body'],
    hash: 'sha256',
    encoding: 'base64',
  }),
  // Of the statuses we could give only 503 with a short Retry-After is tried again: the usual answer.
  redelivery: { by: 'source', forMs: HOUR_MS },
  own: 'authors',
  facts(payload, request) {
    const { type } = z.object({ type: text }).parse(payload);
    return type?.startsWith(EVENT) === true
      ? eventFacts(event.parse(payload))
      : triggerFacts(trigger.parse(payload), request);
  },
  reread: {
    path: ({ conversationId }) =>
      `/api/v2/tickets/${encodeURIComponent(conversationId)}/comments.json?include=users&sort=-created_at`,
    facts(answer, { conversationId }) {
      const { comments: all, users } = comments.parse(answer);
      return all.map((comment): Fact => {
        const user = users.find((one) => one.id === comment.author_id);
        const kind = user?.role === 'end-user' ? 'customer' : 'agent';
        return {
          fact: 'message',
          conversationId,
          messageId: comment.id,
          author: { kind, id: comment.author_id, email: user?.email },
          body: {
            text: comment.plain_body,
            html: comment.html_body,
            attachments: (comment.attachments ?? []).map((file) => ({
              name: file.file_name,
              type: file.content_type,
            })),
            mail: true,
          },
          internal: !comment.public,
        };
      });
    },
  },
});

function eventFacts(payload: Event): Fact[] {
  const { detail } = payload;
  const conversationId = detail.id;
  switch (payload.type.slice(EVENT.length)) {
    case 'ticket.created':
      return [created(payload)];
    case 'ticket.comment_added':
      return [commented(payload)];
    case 'messaging_ticket.message_added':
      return [chatted(payload)];
    case 'ticket.status_changed':
      return statusFacts(payload);
    case 'ticket.merged':
      return [
        { fact: 'change', change: 'merged', conversationId, into: payload.event.target_ticket_id },
      ];
    case 'ticket.soft_deleted':
    case 'ticket.permanently_deleted':
      return [{ fact: 'change', change: 'deleted', conversationId }];
    default:
      return [nothing('no_message', conversationId)];
  }
}

/** One act of a user can be both "created" and "comment added": the events share a sequence, which makes them one. */
function created({ detail, event: { meta }, id: eventId }: Event): Fact {
  const byCustomer = detail.submitter_id === detail.requester_id;
  return {
    fact: 'message',
    conversationId: detail.id,
    messageId: 'description',
    deliveryId: meta?.sequence.id ?? eventId,
    author: { kind: byCustomer ? 'customer' : 'agent', id: detail.submitter_id },
    body: { text: detail.description, mail: detail.via?.channel === 'email' },
    subject: detail.subject,
    channel: detail.via?.channel,
    internal: detail.is_public === false,
  };
}

function commented({ detail, event: { comment, meta }, id: eventId }: Event): Fact {
  if (comment === undefined) throw new TypeError('comment_added without a comment');
  return {
    fact: 'message',
    conversationId: detail.id,
    messageId: comment.id,
    deliveryId: meta?.sequence.id ?? eventId,
    author: { kind: comment.author.is_staff ? 'agent' : 'customer', id: comment.author.id },
    body: { text: comment.body, mail: detail.via?.channel === 'email' },
    subject: detail.subject,
    channel: detail.via?.channel,
    internal: !comment.is_public,
  };
}

const ACTORS: Readonly<Record<string, Author['kind']>> = { end_user: 'customer', agent: 'agent' };

function chatted({ detail, event: { actor, message }, id: eventId }: Event): Fact {
  if (actor === undefined || message === undefined) {
    throw new TypeError('message_added without actor or message');
  }
  return {
    fact: 'message',
    conversationId: detail.id,
    messageId: message.id,
    deliveryId: eventId,
    author: { kind: ACTORS[actor.type] ?? 'machine', id: actor.id },
    body: { text: message.body },
    channel: 'messaging',
  };
}

const OVER: readonly unknown[] = ['SOLVED', 'CLOSED'];

function statusFacts({ detail, event: { current, previous } }: Event): Fact[] {
  const conversationId = detail.id;
  if (OVER.includes(current)) return [{ fact: 'change', change: 'closed', conversationId }];
  if (OVER.includes(previous)) return [{ fact: 'change', change: 'reopened', conversationId }];
  return [nothing('no_message', conversationId)];
}

function triggerFacts(payload: z.output<typeof trigger>, request: WebhookRequest): Fact[] {
  const { current_user: user, via } = payload;
  const channel = via?.toLowerCase();
  return [
    {
      fact: 'message',
      conversationId: payload.ticket_id,
      messageId: bodyKey(request),
      deliveryId: header(request, 'x-zendesk-webhook-invocation-id'),
      author: {
        kind: user.role.toLowerCase() === 'end user' ? 'customer' : 'agent',
        id: user.id,
        email: user.email,
      },
      body: {
        text: payload.latest_comment,
        html: payload.latest_comment_html,
        mail: channel === 'mail',
      },
      subject: payload.subject,
      channel,
      internal: payload.latest_comment_is_public !== 'true',
      missing: ['messageId'],
    },
  ];
}
