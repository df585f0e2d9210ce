import { z } from 'zod';
import { intercomTarget } from '../../../src/targets/index.ts';
import type { FakeMessage, FakeTicket, Hand } from './book.ts';
import { signature } from './signing.ts';
import {
  changedSince,
  CUSTOMER_MAIL,
  notFound,
  seconds,
  ticketOf,
  type ApiAnswer,
  type ApiCall,
  type HookEvent,
  type Vendor,
} from './vendor.ts';

const OURS = '274';
const TOKEN = 'intercom-access-token';
const MAX_PARTS = 500;

const asAdmin = { type: z.literal('admin'), admin_id: z.literal(OURS) };
const newPart = z.object({
  ...asAdmin,
  message_type: z.enum(['comment', 'note']),
  body: z.string(),
});
const newState = z.object({ ...asAdmin, message_type: z.enum(['open', 'close']) });
const newSearch = z.object({
  query: z.object({ field: z.literal('updated_at'), operator: z.literal('>'), value: z.number() }),
  pagination: z.object({ per_page: z.number(), starting_after: z.string().optional() }),
});
const newTag = z.object({ id: z.string(), admin_id: z.literal(OURS) });

const AUTHORS: Record<Hand, { type: string; id: string; name: string; email: string }> = {
  customer: {
    type: 'user',
    id: '6762f16e1bb69f9f2193bbc2',
    name: 'Customer One',
    email: CUSTOMER_MAIL,
  },
  us: { type: 'bot', id: OURS, name: 'Support Bot', email: 'operator+ab12cd34@intercom.io' },
  human: { type: 'admin', id: '991267708', name: 'Jo Miller', email: 'jo@support.example.com' },
};

function partView(message: FakeMessage, plain: boolean): object {
  const html = message.by === 'us' ? message.text : `<p>${message.text}</p>`;
  const at = seconds(message.at);
  return {
    type: 'conversation_part',
    id: String(message.id),
    part_type: message.public ? 'comment' : 'note',
    body: plain ? html.replaceAll(/<br>/g, '\n').replaceAll(/<[^>]*>/g, '') : html,
    created_at: at,
    updated_at: at,
    notified_at: at,
    assigned_to: null,
    author: { ...AUTHORS[message.by], from_ai_agent: false, is_ai_answer: false },
    attachments: [],
    external_id: null,
    redacted: false,
    email_message_metadata: null,
    metadata: null,
    state: 'open',
    tags: [],
    event_details: null,
    app_package_code: null,
  };
}

function conversationView(
  ticket: FakeTicket,
  messages: readonly FakeMessage[],
  plain = false,
): Record<string, unknown> {
  const { id } = AUTHORS.customer;
  const assignees = { us: Number(OURS), human: Number(AUTHORS.human.id), nobody: null };
  return {
    type: 'conversation',
    id: String(ticket.id),
    title: null,
    created_at: seconds(ticket.createdAt),
    updated_at: seconds(ticket.updatedAt),
    waiting_since: seconds(ticket.updatedAt),
    snoozed_until: null,
    open: ticket.status === 'open',
    state: ticket.status,
    read: false,
    priority: 'not_priority',
    admin_assignee_id: assignees[ticket.assignee],
    team_assignee_id: 5_017_691,
    tags: { type: 'tag.list', tags: ticket.tags.map((tag) => ({ type: 'tag', id: tag })) },
    source: {
      type: 'conversation',
      // What everybody is greeted with; the customer's own messages are parts.
      id: '403918356',
      delivered_as: 'automated',
      subject: '',
      body: '<p>Hello</p>',
      author: { type: AUTHORS.us.type, id: '1', name: 'Workflow', email: null },
      attachments: [],
      url: 'https://shop.example.com/orders',
      redacted: false,
    },
    contacts: { type: 'contact.list', contacts: [{ type: 'contact', id, external_id: '70' }] },
    teammates: { type: 'admin.list', admins: [] },
    custom_attributes: {},
    conversation_rating: null,
    first_contact_reply: { created_at: seconds(ticket.createdAt), type: 'conversation', url: null },
    sla_applied: null,
    statistics: null,
    linked_objects: { type: 'list', data: [], total_count: 0, has_more: false },
    ai_agent_participated: false,
    ai_agent: null,
    conversation_parts: {
      type: 'conversation_part.list',
      conversation_parts: messages.map((message) => partView(message, plain)),
      total_count: ticket.messages.length,
    },
  };
}

function onConversation(act: (ticket: FakeTicket, call: ApiCall) => ApiAnswer) {
  return (call: ApiCall): ApiAnswer => {
    const ticket = ticketOf(call);
    const errors = [{ code: 'not_found', message: 'Resource not found' }];
    return ticket === undefined ? notFound({ type: 'error.list', errors }) : act(ticket, call);
  };
}

function answerWith(ticket: FakeTicket, plain = false): ApiAnswer {
  const body = conversationView(ticket, ticket.messages.slice(-MAX_PARTS), plain);
  return { status: 200, body };
}

/** Conversations without their parts, as a search gives them. */
function search(call: ApiCall): ApiAnswer {
  const { query, pagination } = newSearch.parse(call.body);
  const all = changedSince(call, (query.value + 1) * 1_000);
  const from = Number(pagination.starting_after ?? 0);
  const to = from + pagination.per_page;
  const next = to < all.length ? { page: 2, starting_after: String(to) } : null;
  const conversations = all.slice(from, to).map((ticket) => {
    const { conversation_parts: _, ...rest } = conversationView(ticket, []);
    return rest;
  });
  return { status: 200, body: { type: 'conversation.list', conversations, pages: { next } } };
}

function reply(ticket: FakeTicket, { book, body, posted }: ApiCall): ApiAnswer {
  const wished = newPart.parse(body);
  const message = book.add(ticket, {
    by: 'us',
    public: wished.message_type === 'comment',
    text: wished.body,
    extra: {},
  });
  posted(message);
  return answerWith(ticket);
}

const TOPICS: Record<Hand, string> = {
  customer: 'conversation.user.replied',
  us: 'conversation.admin.replied',
  human: 'conversation.admin.replied',
};

function notification(
  topic: string,
  ticket: FakeTicket,
  messages: readonly FakeMessage[],
): HookEvent {
  const at = seconds(ticket.updatedAt);
  return {
    body: {
      type: 'notification_event',
      app_id: 'ab12cd34',
      data: { type: 'notification_event_data', item: conversationView(ticket, messages) },
      links: {},
      id: `notif_${ticket.id}-${ticket.updatedAt}-${messages[0]?.id ?? topic}`,
      topic,
      delivery_status: 'pending',
      delivery_attempts: 1,
      delivered_at: 0,
      first_sent_at: at,
      created_at: at,
      self: null,
    },
    headers: (body) => ({ 'x-hub-signature': `sha1=${signature('sha1', 'hex', body)}` }),
  };
}

/** Intercom: conversations and parts, which have no field for a reference, and webhooks with the newest part in them. */
export const intercom: Vendor = {
  firstIds: { ticket: 531, message: 3_001 },
  statuses: { open: 'open', resolved: 'closed', closed: 'closed', merged: 'closed' },
  reopens: ['closed', 'snoozed'],
  authorised: ({ authorization }) => authorization === `Bearer ${TOKEN}`,
  routes: [
    {
      method: 'GET',
      path: /^\/conversations\/(\d+)$/,
      effect: 'read',
      handle: onConversation((ticket, { query }) =>
        answerWith(ticket, query.get('display_as') === 'plaintext'),
      ),
    },
    {
      method: 'POST',
      path: /^\/conversations\/search$/,
      effect: 'read',
      handle: search,
    },
    {
      method: 'POST',
      path: /^\/conversations\/(\d+)\/reply$/,
      effect: 'write',
      handle: onConversation(reply),
    },
    {
      method: 'POST',
      path: /^\/conversations\/(\d+)\/parts$/,
      effect: 'change',
      handle: onConversation((ticket, { book, body, changed }) => {
        const before = ticket.status;
        ticket.status = newState.parse(body).message_type === 'close' ? 'closed' : 'open';
        book.touch(ticket);
        changed(ticket, before);
        return answerWith(ticket);
      }),
    },
    {
      method: 'POST',
      path: /^\/conversations\/(\d+)\/tags$/,
      effect: 'change',
      handle: onConversation((ticket, { body }) => {
        const { id } = newTag.parse(body);
        ticket.tags = [...new Set([...ticket.tags, id])];
        return { status: 200, body: { type: 'tag', id } };
      }),
    },
  ],
  messageEvent: (message, ticket) =>
    notification(message.public ? TOPICS[message.by] : 'conversation.admin.noted', ticket, [
      message,
    ]),
  statusEvent: (ticket) => {
    const open = ticket.life === 'open';
    const told = open ? 'conversation.admin.opened' : 'conversation.admin.closed';
    return notification(ticket.life === 'deleted' ? 'conversation.deleted' : told, ticket, []);
  },
  ownAuthors: [OURS],
  hookTimeoutMs: 5_000,
  retryAfter: (attempt) => (attempt < 2 ? 60_000 : undefined),
  target: (url) => intercomTarget({ url, adminId: OURS, accessToken: TOKEN, development: true }),
  api: (url) => ({ url, headers: { authorization: `Bearer ${TOKEN}` }, development: true }),
  reference: ({ text }) => /Ref\. [0-9a-f]{12}/.exec(text)?.[0],
};
