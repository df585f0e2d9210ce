import { z } from 'zod';
import { zendeskTarget } from '../../../src/targets/index.ts';
import type { FakeMessage, FakeTicket, Hand } from './book.ts';
import { signature } from './signing.ts';
import {
  changedSince,
  iso,
  notFound,
  ticketOf,
  type ApiAnswer,
  type ApiCall,
  type HookEvent,
  type Vendor,
} from './vendor.ts';

const OURS = 8_447_388_090_494;
const PEOPLE: Record<Hand, { id: number; name: string; role: string }> = {
  customer: { id: 9_013_371, name: 'Customer One', role: 'end-user' },
  us: { id: OURS, name: 'Support Agent', role: 'agent' },
  human: { id: 8_447_388_090_777, name: 'Jo Miller', role: 'agent' },
};
const ACCOUNT = 21_825_834;
const MINUTE_MS = 60_000;
const EXPORT_PAGE = 1_000;
const MERGED_TAG = 'closed_by_merge';
const EMAIL = 'bot@support.example.com';
const TOKEN = 'zendesk-api-token';

const update = z.object({
  ticket: z.object({
    comment: z.object({ html_body: z.string(), public: z.boolean() }),
    metadata: z.record(z.string(), z.unknown()).default({}),
    status: z.enum(['open', 'pending', 'hold', 'solved']).optional(),
    tags: z.array(z.string()).optional(),
    safe_update: z.boolean().optional(),
    updated_stamp: z.string().optional(),
  }),
});

function assigneeOf({ assignee }: FakeTicket): number | null {
  return assignee === 'nobody' ? null : PEOPLE[assignee].id;
}

function tagsOf({ tags, life }: FakeTicket): string[] {
  return life === 'merged' ? [...tags, MERGED_TAG] : tags;
}

/** In whole seconds, as this system gives its times. */
function stamp(ms: number): string {
  return iso(ms).replace(/\.\d+/, '');
}

function ticketView(ticket: FakeTicket): object {
  return {
    id: ticket.id,
    subject: 'Where is my order 10-48213?',
    status: ticket.status,
    assignee_id: assigneeOf(ticket),
    requester_id: PEOPLE.customer.id,
    tags: tagsOf(ticket),
    created_at: stamp(ticket.createdAt),
    updated_at: stamp(ticket.updatedAt),
  };
}

function auditView(message: FakeMessage): object {
  const author = PEOPLE[message.by].id;
  return {
    id: message.id + 1_000_000,
    ticket_id: message.ticketId,
    author_id: author,
    created_at: stamp(message.at),
    metadata: { system: {}, custom: message.extra },
    events: [
      {
        id: message.id,
        type: 'Comment',
        author_id: author,
        public: message.public,
        body: message.text,
      },
      { id: message.id + 2_000_000, type: 'Notification', subject: 'Your ticket has been updated' },
    ],
    via: { channel: message.by === 'us' ? 'api' : 'web' },
  };
}

function listAudits(call: ApiCall): ApiAnswer {
  const ticket = ticketOf(call);
  if (ticket === undefined) return notFound({ error: 'RecordNotFound' });
  const size = Math.min(100, Number(call.query.get('page[size]') ?? 100));
  const from = Number(call.query.get('page[after]') ?? 0);
  const newestFirst = call.query.get('sort') === '-created_at';
  const all = newestFirst ? ticket.messages.toReversed() : ticket.messages;
  return {
    status: 200,
    body: {
      audits: all.slice(from, from + size).map(auditView),
      users: Object.values(PEOPLE),
      meta: { has_more: from + size < all.length, after_cursor: String(from + size) },
    },
  };
}

/** The real one also leaves out what changed within the last minute, for which no test waits. */
function listChanges(call: ApiCall): ApiAnswer {
  const start = call.query.get('start_time');
  const [since, from] = start === null ? cursorOf(call) : [Number(start) * 1_000, 0];
  if (start !== null && since > Date.now() - MINUTE_MS) {
    return { status: 422, body: { error: 'InvalidValue', description: 'Too recent start_time' } };
  }
  const all = changedSince(call, since).toReversed();
  const tickets = all.slice(from, from + EXPORT_PAGE);
  const to = from + tickets.length;
  return {
    status: 200,
    body: {
      tickets: tickets.map((ticket) => ({ ...ticketView(ticket), via: { channel: 'web' } })),
      after_cursor: Buffer.from(JSON.stringify([since, to])).toString('base64'),
      end_of_stream: to >= all.length,
    },
  };
}

function cursorOf({ query }: ApiCall): [since: number, from: number] {
  const cursor = Buffer.from(query.get('cursor') ?? '', 'base64').toString('utf8');
  return z.tuple([z.number(), z.number()]).parse(JSON.parse(cursor));
}

function listComments(call: ApiCall): ApiAnswer {
  const ticket = ticketOf(call);
  if (ticket === undefined) return notFound({ error: 'RecordNotFound' });
  const size = Math.min(100, Number(call.query.get('page[size]') ?? 100));
  const from = Number(call.query.get('page[after]') ?? 0);
  const newestFirst = call.query.get('sort') === '-created_at';
  const all = newestFirst ? ticket.messages.toReversed() : ticket.messages;
  return {
    status: 200,
    body: {
      comments: all.slice(from, from + size).map((message) => ({
        id: message.id,
        author_id: PEOPLE[message.by].id,
        plain_body: message.text,
        html_body: `<div>${message.text}</div>`,
        public: message.public,
        created_at: stamp(message.at),
        attachments: [],
      })),
      users: Object.values(PEOPLE).map((person) => ({ ...person, email: null })),
      meta: { has_more: from + size < all.length, after_cursor: String(from + size) },
    },
  };
}

function updateTicket(call: ApiCall): ApiAnswer {
  const ticket = ticketOf(call);
  if (ticket === undefined) return notFound({ error: 'RecordNotFound' });
  if (ticket.status === 'closed') {
    const description = 'Status: closed prevents ticket update';
    return {
      status: 422,
      body: { error: 'RecordInvalid', details: { status: [{ description }] } },
    };
  }
  const { ticket: wished } = update.parse(call.body);
  if (wished.safe_update !== undefined && wished.updated_stamp !== stamp(ticket.updatedAt)) {
    return { status: 409, body: { error: 'UpdateConflict' } };
  }
  const statusBefore = ticket.status;
  if (wished.tags !== undefined) ticket.tags = wished.tags;
  if (wished.status !== undefined) ticket.status = wished.status;
  if (wished.status === 'solved') ticket.life = 'resolved';
  const message = call.book.add(ticket, {
    by: 'us',
    public: wished.comment.public,
    text: wished.comment.html_body,
    extra: wished.metadata,
  });
  call.posted(message);
  if (ticket.status !== statusBefore) call.changed(ticket, statusBefore);
  return { status: 200, body: { ticket: ticketView(ticket), audit: auditView(message) } };
}

function event(type: string, ticket: FakeTicket, by: Hand, content: object): HookEvent {
  const at = Date.now();
  const id = `01J${ticket.id}T${ticket.updatedAt}${type.length}`;
  const sequence = { id: `${id}S`, position: 1, total: 1 };
  return {
    body: {
      account_id: ACCOUNT,
      detail: {
        actor_id: String(PEOPLE[by].id),
        assignee_id: assigneeOf(ticket) === null ? null : String(assigneeOf(ticket)),
        brand_id: '8447346621310',
        created_at: stamp(ticket.createdAt),
        custom_status: '8447320466430',
        description: ticket.messages[0]?.text ?? '',
        external_id: null,
        form_id: '8646151517822',
        group_id: '8447320466558',
        id: String(ticket.id),
        is_public: true,
        organization_id: '8447346622462',
        priority: 'NORMAL',
        requester_id: String(PEOPLE.customer.id),
        status: ticket.status.toUpperCase(),
        subject: 'Where is my order 10-48213?',
        submitter_id: String(PEOPLE.customer.id),
        tags: tagsOf(ticket),
        type: 'QUESTION',
        updated_at: stamp(ticket.updatedAt),
        via: { channel: by === 'us' ? 'api' : 'email' },
      },
      event: { ...content, meta: { sequence } },
      id,
      subject: `zen:ticket:${ticket.id}`,
      time: iso(at),
      type: `zen:event-type:ticket.${type}`,
      zendesk_event_version: '2022-11-06',
    },
    headers: (body) => {
      const sentAt = stamp(Date.now());
      return {
        'x-zendesk-account-id': String(ACCOUNT),
        'x-zendesk-webhook-id': '01HZTESTWEBHOOK0000000001',
        'x-zendesk-webhook-invocation-id': `${id}I`,
        'x-zendesk-webhook-signature-timestamp': sentAt,
        'x-zendesk-webhook-signature': signature('sha256', 'base64', sentAt + body),
      };
    },
  };
}

/** Zendesk Support: tickets, audits, safe updates, event webhooks. */
export const zendesk: Vendor = {
  firstIds: { ticket: 35_436, message: 8_653_087_542_654 },
  statuses: { open: 'open', resolved: 'solved', closed: 'closed', merged: 'closed' },
  reopens: ['pending', 'solved'],
  authorised: ({ authorization }) =>
    authorization === `Basic ${Buffer.from(`${EMAIL}/token:${TOKEN}`).toString('base64')}`,
  routes: [
    {
      method: 'GET',
      path: /^\/api\/v2\/incremental\/tickets\/cursor\.json$/,
      effect: 'read',
      handle: listChanges,
    },
    {
      method: 'GET',
      path: /^\/api\/v2\/tickets\/(\d+)\/comments\.json$/,
      effect: 'read',
      handle: listComments,
    },
    {
      method: 'GET',
      path: /^\/api\/v2\/tickets\/(\d+)\.json$/,
      effect: 'read',
      handle: (call) => {
        const ticket = ticketOf(call);
        return ticket === undefined
          ? notFound({ error: 'RecordNotFound' })
          : { status: 200, body: { ticket: ticketView(ticket) } };
      },
    },
    {
      method: 'GET',
      path: /^\/api\/v2\/tickets\/(\d+)\/audits\.json$/,
      effect: 'read',
      handle: listAudits,
    },
    {
      method: 'PUT',
      path: /^\/api\/v2\/tickets\/(\d+)\.json$/,
      effect: 'write',
      handle: updateTicket,
    },
  ],
  messageEvent: (message, ticket) => {
    const { id, name } = PEOPLE[message.by];
    const author = { id: String(id), is_staff: message.by !== 'customer', name };
    return event('comment_added', ticket, message.by, {
      comment: {
        author,
        body: message.text,
        id: String(message.id),
        is_public: message.public,
      },
    });
  },
  statusEvent: (ticket, before) => {
    if (ticket.life === 'merged') return event('merged', ticket, 'human', {});
    if (ticket.life === 'deleted') return event('soft_deleted', ticket, 'human', {});
    return event('status_changed', ticket, 'human', {
      current: ticket.status.toUpperCase(),
      previous: before.toUpperCase(),
    });
  },
  ownAuthors: [String(OURS)],
  hookTimeoutMs: 10_000,
  /** A conflict and a time-out are tried again; a full desk only when it says for how long. */
  retryAfter: (attempt, { status, retryAfterMs }) => {
    if (status === 'no_answer') return attempt < 5 ? 1_000 : undefined;
    if (status === 409) return attempt < 3 ? 1_000 : undefined;
    const said = [429, 503].includes(status) && (retryAfterMs ?? Infinity) < 60_000;
    return said && attempt < 5 ? retryAfterMs : undefined;
  },
  target: (url) =>
    zendeskTarget({ url, userId: OURS, email: EMAIL, apiToken: TOKEN, development: true }),
  api: (url) => ({
    url,
    headers: {
      authorization: `Basic ${Buffer.from(`${EMAIL}/token:${TOKEN}`).toString('base64')}`,
    },
    development: true,
  }),
  reference: ({ extra }) => extra['turnkeeper_reference'] as string | undefined,
};
