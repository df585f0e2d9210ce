import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { chatwootTarget } from '../../../src/targets/index.ts';
import type { FakeMessage, FakeTicket, Hand } from './book.ts';
import { signature } from './signing.ts';
import {
  changedSince,
  CUSTOMER_MAIL,
  iso,
  notFound,
  seconds,
  ticketOf,
  type ApiAnswer,
  type ApiCall,
  type HookEvent,
  type Vendor,
} from './vendor.ts';

const ACCOUNT = { id: 1, name: 'Example Store' };
const INBOX = { id: 3, name: 'Website' };
const BOT_ID = 9;
const USER_ID = 7;
const HUMAN_ID = 2;
const TOKEN = 'chatwoot-api-token';
const PAGE = 20;
const CONVERSATION_PAGE = 25;

const newMessage = z.object({
  content: z.string(),
  message_type: z.literal('outgoing'),
  private: z.boolean(),
  content_attributes: z.record(z.string(), z.unknown()).optional(),
});
const newStatus = z.object({ status: z.enum(['open', 'resolved', 'pending', 'snoozed']) });
const newLabels = z.object({ labels: z.array(z.string()) });

const SENDERS: Record<Hand, { id: number; name: string; type: string; email?: string }> = {
  customer: { id: 10, name: 'Customer One', type: 'contact', email: CUSTOMER_MAIL },
  us: { id: BOT_ID, name: 'Support Bot', type: 'agent_bot' },
  human: { id: HUMAN_ID, name: 'Jo Miller', type: 'user', email: 'jo@support.example.com' },
};
/** The customer as an event has them: nothing says that it is one. */
const CONTACT = {
  additional_attributes: {},
  avatar: '',
  blocked: false,
  custom_attributes: {},
  email: CUSTOMER_MAIL,
  id: 10,
  identifier: null,
  name: 'Customer One',
  phone_number: null,
  thumbnail: '',
};
const SENDER_TYPES: Record<Hand, string> = {
  customer: 'Contact',
  us: 'AgentBot',
  human: 'User',
};

function attributesOf({ extra }: FakeMessage): unknown {
  return extra['content_attributes'] ?? {};
}

function messageView(message: FakeMessage): object {
  const { id, name, type } = SENDERS[message.by];
  const sender =
    message.by === 'customer' ? { id, name, type, email: CUSTOMER_MAIL } : { id, name, type };
  return {
    id: message.id,
    content: message.text,
    account_id: ACCOUNT.id,
    inbox_id: INBOX.id,
    conversation_id: message.ticketId,
    message_type: message.by === 'customer' ? 0 : 1,
    created_at: seconds(message.at),
    updated_at: iso(message.at),
    private: !message.public,
    status: 'sent',
    source_id: null,
    content_type: 'text',
    content_attributes: attributesOf(message),
    sender_type: SENDER_TYPES[message.by],
    sender_id: id,
    sender,
  };
}

function conversationView(ticket: FakeTicket): object {
  const assigned = ticket.assignee === 'nobody' ? undefined : ticket.assignee;
  const last = ticket.messages.at(-1);
  return {
    additional_attributes: {},
    can_reply: true,
    channel: 'Channel::WebWidget',
    contact_inbox: {
      id: 7,
      contact_id: 10,
      inbox_id: INBOX.id,
      source_id: 'a7f2c1d0-5a53-4f3f-9c3b-000000000001',
      created_at: iso(ticket.createdAt),
      updated_at: iso(ticket.createdAt),
      hmac_verified: false,
      pubsub_token: 'hidden',
    },
    id: ticket.id,
    inbox_id: INBOX.id,
    messages: last === undefined ? [] : [messageView(last)],
    labels: ticket.tags,
    meta: {
      sender: { ...CONTACT, type: 'contact' },
      assignee:
        assigned === undefined ? null : { id: assigned === 'us' ? USER_ID : HUMAN_ID, name: 'A' },
      assignee_type: assigned === undefined ? null : 'User',
      team: null,
      channel: 'Channel::WebWidget',
      hmac_verified: false,
    },
    status: ticket.status,
    custom_attributes: {},
    snoozed_until: null,
    unread_count: 1,
    first_reply_created_at: null,
    priority: null,
    waiting_since: seconds(ticket.updatedAt),
    agent_last_seen_at: 0,
    contact_last_seen_at: 0,
    created_at: seconds(ticket.createdAt),
    updated_at: seconds(ticket.updatedAt),
    timestamp: seconds(ticket.updatedAt),
    last_activity_at: seconds(ticket.updatedAt),
  };
}

function signed(body: object): HookEvent {
  // Two subscriptions bring the same message under two ids.
  const deliveries = [randomUUID(), randomUUID()];
  return {
    body,
    headers: (text, copy) => {
      const at = String(seconds(Date.now()));
      return {
        'x-chatwoot-timestamp': at,
        'x-chatwoot-signature': `sha256=${signature('sha256', 'hex', `${at}.${text}`)}`,
        'x-chatwoot-delivery': deliveries[copy] ?? '',
      };
    },
  };
}

function onConversation(act: (ticket: FakeTicket, call: ApiCall) => ApiAnswer) {
  return (call: ApiCall): ApiAnswer => {
    const ticket = ticketOf(call);
    return ticket === undefined
      ? notFound({ error: 'Resource could not be found' })
      : act(ticket, call);
  };
}

function listMessages({ messages }: FakeTicket, { query }: ApiCall): ApiAnswer {
  const before = Number(query.get('before') ?? Infinity);
  const payload = messages.filter(({ id }) => id < before).slice(-PAGE);
  return { status: 200, body: { meta: {}, payload: payload.map(messageView) } };
}

function createMessage(ticket: FakeTicket, { book, body, posted }: ApiCall): ApiAnswer {
  const wished = newMessage.parse(body);
  const message = book.add(ticket, {
    by: 'us',
    public: !wished.private,
    text: wished.content,
    extra: { content_attributes: wished.content_attributes },
  });
  posted(message);
  return { status: 200, body: messageView(message) };
}

function toggleStatus(ticket: FakeTicket, { book, body, changed }: ApiCall): ApiAnswer {
  const before = ticket.status;
  ticket.status = newStatus.parse(body).status;
  ticket.life = ticket.status === 'resolved' ? 'resolved' : 'open';
  book.touch(ticket);
  changed(ticket, before);
  return { status: 200, body: { payload: { success: true, current_status: ticket.status } } };
}

/** Chatwoot: an inbox with a bot, whose conversations begin as pending. Its account webhook never tries again. */
export const chatwoot: Vendor = {
  firstIds: { ticket: 42, message: 100 },
  statuses: { open: 'pending', resolved: 'resolved', closed: 'resolved', merged: 'resolved' },
  reopens: ['resolved'],
  authorised: (headers) => headers['api_access_token'] === TOKEN,
  routes: [
    {
      method: 'GET',
      path: /^\/api\/v1\/accounts\/1\/conversations$/,
      effect: 'read',
      handle: (call) => {
        const from = (Number(call.query.get('page') ?? 1) - 1) * CONVERSATION_PAGE;
        const wanted = call.query.get('status') ?? 'open';
        const all = changedSince(call, 0).filter(
          ({ status, messages }) => (wanted === 'all' || status === wanted) && messages.length > 0,
        );
        const payload = all.slice(from, from + CONVERSATION_PAGE).map(conversationView);
        return { status: 200, body: { data: { meta: { all_count: all.length }, payload } } };
      },
    },
    {
      method: 'GET',
      path: /^\/api\/v1\/accounts\/1\/conversations\/(\d+)$/,
      effect: 'read',
      handle: onConversation((ticket) => ({ status: 200, body: conversationView(ticket) })),
    },
    {
      method: 'GET',
      path: /^\/api\/v1\/accounts\/1\/conversations\/(\d+)\/messages$/,
      effect: 'read',
      handle: onConversation(listMessages),
    },
    {
      method: 'POST',
      path: /^\/api\/v1\/accounts\/1\/conversations\/(\d+)\/messages$/,
      effect: 'write',
      handle: onConversation(createMessage),
    },
    {
      method: 'POST',
      path: /^\/api\/v1\/accounts\/1\/conversations\/(\d+)\/toggle_status$/,
      effect: 'change',
      handle: onConversation(toggleStatus),
    },
    {
      method: 'POST',
      path: /^\/api\/v1\/accounts\/1\/conversations\/(\d+)\/labels$/,
      effect: 'change',
      handle: onConversation((ticket, { body }) => {
        ticket.tags = newLabels.parse(body).labels;
        return { status: 200, body: { payload: ticket.tags } };
      }),
    },
  ],
  messageEvent: (message, ticket) =>
    signed({
      account: ACCOUNT,
      additional_attributes: {},
      content_attributes: attributesOf(message),
      content_type: 'text',
      content: message.text,
      conversation: conversationView(ticket),
      created_at: iso(message.at),
      id: message.id,
      inbox: INBOX,
      message_type: message.by === 'customer' ? 'incoming' : 'outgoing',
      private: !message.public,
      sender: message.by === 'customer' ? { ...CONTACT, account: ACCOUNT } : SENDERS[message.by],
      source_id: null,
      event: 'message_created',
    }),
  statusEvent: (ticket, before) =>
    signed({
      ...conversationView(ticket),
      changed_attributes: [{ status: { previous_value: before, current_value: ticket.status } }],
      event: 'conversation_status_changed',
    }),
  ownAuthors: [`agent_bot-${BOT_ID}`],
  hookTimeoutMs: 5_000,
  retryAfter: () => undefined,
  target: (url) =>
    chatwootTarget({
      url,
      accountId: ACCOUNT.id,
      userId: USER_ID,
      token: TOKEN,
      botId: BOT_ID,
      development: true,
    }),
  api: (url) => ({
    url: `${url}/api/v1/accounts/${ACCOUNT.id}`,
    headers: { api_access_token: TOKEN },
    development: true,
  }),
  reference: (message) => (attributesOf(message) as Record<string, string>)['turnkeeper_reference'],
};
