import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { zammadTarget } from '../../../src/targets/index.ts';
import type { FakeMessage, FakeTicket, Hand } from './book.ts';
import { signature } from './signing.ts';
import {
  changedSince,
  CUSTOMER_MAIL,
  iso,
  notFound,
  ticketOf,
  type ApiAnswer,
  type ApiCall,
  type Vendor,
} from './vendor.ts';

const SERVICE_MAIL = 'support@support.example.com';
const TOKEN = 'zammad-api-token';
const NOBODY = 1;
const FOUNDED = '2025-11-13T12:57:48.779Z';

const newArticle = z
  .object({
    ticket_id: z.number(),
    body: z.string(),
    type: z.string().default('note'),
    internal: z.boolean().default(false),
    to: z.string().optional(),
    in_reply_to: z.string().optional(),
    preferences: z.record(z.string(), z.unknown()).default({}),
  })
  .refine(({ type, to }) => type !== 'email' || to !== undefined);
const newState = z.object({ state: z.string() });
const newTag = z.object({ item: z.string(), object: z.literal('Ticket'), o_id: z.number() });

type Person = { id: number; firstname: string; lastname: string; email: string; role: string };
const PEOPLE: Record<Hand, Person> = {
  customer: {
    id: 8,
    firstname: 'Customer',
    lastname: 'One',
    email: CUSTOMER_MAIL,
    role: 'Customer',
  },
  us: {
    id: 5,
    firstname: 'Support',
    lastname: 'Agent',
    email: 'agent@support.example.com',
    role: 'Agent',
  },
  human: {
    id: 6,
    firstname: 'Jo',
    lastname: 'Miller',
    email: 'jo@support.example.com',
    role: 'Agent',
  },
};

function userView(hand: Hand): object {
  const { role, ...person } = PEOPLE[hand];
  return {
    ...person,
    active: true,
    login: person.email,
    organization: null,
    organization_id: null,
    out_of_office: false,
    roles: [role],
    role_ids: [role === 'Agent' ? 2 : 3],
    created_at: FOUNDED,
    created_by: '-',
    created_by_id: NOBODY,
    updated_at: FOUNDED,
    updated_by: '-',
    updated_by_id: NOBODY,
    verified: false,
    vip: false,
  };
}

function ownerIdOf({ assignee }: FakeTicket): number {
  return assignee === 'nobody' ? NOBODY : PEOPLE[assignee].id;
}

function ticketView(ticket: FakeTicket): Record<string, unknown> {
  return {
    id: ticket.id,
    number: String(10_000 + ticket.id),
    title: 'Where is my order 10-48213?',
    state: ticket.status,
    owner_id: ownerIdOf(ticket),
    customer_id: PEOPLE.customer.id,
    article_ids: ticket.messages.map(({ id }) => id),
    article_count: ticket.messages.length,
    create_article_sender: 'Customer',
    create_article_sender_id: 2,
    create_article_type: 'email',
    create_article_type_id: 1,
    created_by_id: PEOPLE.customer.id,
    group_id: 3,
    last_contact_at: iso(ticket.updatedAt),
    last_contact_customer_at: iso(ticket.updatedAt),
    organization_id: null,
    priority_id: 2,
    state_id: 2,
    ticket_time_accounting: [],
    ticket_time_accounting_ids: [],
    created_at: iso(ticket.createdAt),
    updated_at: iso(ticket.updatedAt),
  };
}

/** As the API gives it; an event has no `preferences`. */
function articleView(message: FakeMessage): Record<string, unknown> {
  const { id, firstname, lastname, email, role } = PEOPLE[message.by];
  const { type = 'email', preferences = {}, to } = message.extra;
  const fromCustomer = message.by === 'customer';
  return {
    id: message.id,
    ticket_id: message.ticketId,
    type,
    sender: role,
    internal: message.extra['internal'] ?? !message.public,
    body: message.text,
    content_type: 'text/plain',
    from: fromCustomer ? `${firstname} ${lastname} <${email}>` : `Example Store <${SERVICE_MAIL}>`,
    to: to ?? (fromCustomer ? SERVICE_MAIL : null),
    cc: null,
    subject: 'Re: Where is my order 10-48213?',
    message_id: `<${message.at}.${message.id}@zammad.example.com>`,
    in_reply_to: message.extra['in_reply_to'] ?? null,
    references: message.extra['in_reply_to'] ?? null,
    reply_to: null,
    origin_by: null,
    origin_by_id: null,
    type_id: 1,
    sender_id: role === 'Agent' ? 1 : 2,
    created_by_id: id,
    updated_by_id: id,
    attachments: [],
    preferences,
    created_at: iso(message.at),
    updated_at: iso(message.at),
  };
}

function createArticle(call: ApiCall): ApiAnswer {
  const { ticket_id: id, body: text, ...extra } = newArticle.parse(call.body);
  const ticket = ticketOf({ ...call, params: [String(id)] });
  if (ticket === undefined) return notFound({ error: "Couldn't find Ticket" });
  const message = call.book.add(ticket, {
    by: 'us',
    // A mail goes out whatever is said about it.
    public: extra.type === 'email' || !extra.internal,
    text,
    extra,
  });
  call.posted(message);
  return { status: 201, body: articleView(message) };
}

function onTicket(act: (ticket: FakeTicket, call: ApiCall) => ApiAnswer) {
  return (call: ApiCall): ApiAnswer => {
    const ticket = ticketOf(call);
    return ticket === undefined ? notFound({ error: "Couldn't find Ticket" }) : act(ticket, call);
  };
}

/** Zammad: tickets, articles, tags, webhooks by a trigger on every article. */
export const zammad: Vendor = {
  firstIds: { ticket: 81, message: 104 },
  statuses: { open: 'open', resolved: 'closed', closed: 'closed', merged: 'merged' },
  reopens: ['closed'],
  authorised: ({ authorization }) => authorization === `Token token=${TOKEN}`,
  routes: [
    {
      method: 'GET',
      path: /^\/api\/v1\/tickets\/search$/,
      effect: 'read',
      handle: (call) => {
        const { query } = call;
        if (query.get('condition[ticket.updated_at][operator]') !== 'after (absolute)') {
          return { status: 422, body: { error: 'Invalid condition' } };
        }
        const since = Date.parse(query.get('condition[ticket.updated_at][value]') ?? '');
        const size = Number(query.get('per_page') ?? 50);
        const from = (Number(query.get('page') ?? 1) - 1) * size;
        return {
          status: 200,
          body: changedSince(call, since)
            .slice(from, from + size)
            .map(ticketView),
        };
      },
    },
    {
      method: 'GET',
      path: /^\/api\/v1\/tickets\/(\d+)$/,
      effect: 'read',
      handle: onTicket((ticket) => ({ status: 200, body: ticketView(ticket) })),
    },
    {
      method: 'GET',
      path: /^\/api\/v1\/ticket_articles\/by_ticket\/(\d+)$/,
      effect: 'read',
      handle: onTicket(({ messages }, { query }) => ({
        status: 200,
        body: messages.map((message) => ({
          ...articleView(message),
          ...(query.get('expand') === 'true' ? { created_by: PEOPLE[message.by].email } : {}),
        })),
      })),
    },
    {
      method: 'GET',
      path: /^\/api\/v1\/users\/(\d+)$/,
      effect: 'read',
      handle: ({ params }) =>
        params[0] === String(PEOPLE.customer.id)
          ? { status: 200, body: userView('customer') }
          : notFound(),
    },
    {
      method: 'PUT',
      path: /^\/api\/v1\/tickets\/(\d+)$/,
      effect: 'change',
      handle: onTicket((ticket, { book, body }) => {
        ticket.status = newState.parse(body).state;
        book.touch(ticket);
        return { status: 200, body: ticketView(ticket) };
      }),
    },
    {
      method: 'POST',
      path: /^\/api\/v1\/tags\/add$/,
      effect: 'change',
      handle: ({ book, body }) => {
        const { item, o_id: id } = newTag.parse(body);
        const ticket = book.tickets.get(id);
        if (ticket === undefined) return notFound();
        ticket.tags = [...new Set([...ticket.tags, item])];
        return { status: 201, body: true };
      },
    },
    {
      method: 'POST',
      path: /^\/api\/v1\/ticket_articles$/,
      effect: 'write',
      handle: createArticle,
    },
  ],
  messageEvent: (message, ticket) => {
    const { preferences: _, ...article } = articleView(message);
    const user = userView(message.by);
    const deliveries = [randomUUID(), randomUUID()];
    return {
      body: {
        ticket: {
          ...ticketView(ticket),
          customer: userView('customer'),
          owner:
            ticket.assignee === 'nobody'
              ? { id: NOBODY, login: '-', firstname: '-', lastname: '', email: '' }
              : userView(ticket.assignee),
          group: {
            active: true,
            follow_up_assignment: true,
            follow_up_possible: 'yes',
            id: 3,
            name: 'Service Desk',
            user_ids: [PEOPLE.us.id],
            users: [PEOPLE.us.email],
          },
          priority: { active: true, default_create: true, id: 2, name: '2 normal' },
          created_by: userView('customer'),
          updated_by: user,
          updated_by_id: PEOPLE[message.by].id,
          organization: {},
        },
        article: { ...article, created_by: user, updated_by: user, accounted_time: 0 },
      },
      headers: (body, copy) => ({
        'user-agent': 'Zammad User Agent',
        'x-zammad-trigger': 'agent webhook',
        'x-zammad-delivery': deliveries[copy] ?? '',
        'x-hub-signature': `sha1=${signature('sha1', 'hex', body)}`,
      }),
    };
  },
  ownAuthors: [String(PEOPLE.us.id)],
  hookTimeoutMs: 30_000,
  retryAfter: (attempt) => (attempt < 5 ? attempt * 10_000 : undefined),
  target: (url) => zammadTarget({ url, userId: PEOPLE.us.id, token: TOKEN, development: true }),
  api: (url) => ({
    url,
    headers: { authorization: `Token token=${TOKEN}` },
    development: true,
  }),
  reference: ({ extra }) => {
    const preferences = extra['preferences'] as Record<string, string> | undefined;
    return preferences?.['turnkeeper_reference'];
  },
};
