import { z } from 'zod';
import type { DeliveryTarget, OutgoingMessage } from '../contracts/index.ts';
import type { DeskApi } from './desk-api.ts';
import { DeskCallError } from './desk-api.ts';
import {
  asHtml,
  deskTarget,
  HANDOVER_TAG,
  isPrivate,
  parsed,
  type Desk,
  type Marks,
  type Ticket,
} from './desk.ts';
import { endpointOf } from './endpoint.ts';

export type ZendeskOptions = {
  /** For example https://company.zendesk.com */
  url: string;
  /** The agent's own user: its messages are ours, and what is assigned to it is ours. */
  userId: number;
  email: string;
  apiToken: string;
  /** Default: a reply sets `pending`; a hand-over sets `open` and a tag. */
  marks?: Marks<'open' | 'pending' | 'hold' | 'solved'>;
  /** Allows plain http. Default false. */
  development?: boolean;
};

type ZendeskTicket = Ticket & { tags: readonly string[]; updatedAt: string };

const DEFAULT_MARKS: NonNullable<ZendeskOptions['marks']> = {
  reply: { status: 'pending' },
  handover: { status: 'open', tags: [HANDOVER_TAG] },
};
/** Where our reference lies: in the custom metadata of the audit that a ticket update writes. */
const REFERENCE = 'turnkeeper_reference';
const MERGED_TAG = 'closed_by_merge';
const AUDIT_PAGE = 100;
/** A ticket takes no more than 5,000 comments. */
const MAX_PAGES = 60;

const ticketSchema = z.object({
  ticket: z.object({
    status: z.string(),
    assignee_id: z.number().nullable(),
    requester_id: z.number(),
    tags: z.array(z.string()),
    updated_at: z.string(),
  }),
});
const auditSchema = z.object({
  author_id: z.number(),
  metadata: z.object({ custom: z.record(z.string(), z.unknown()).nullish() }).nullish(),
  events: z.array(
    z.object({
      id: z.number(),
      type: z.string(),
      public: z.boolean().nullish(),
      author_id: z.number().nullish(),
    }),
  ),
});
const auditsSchema = z.object({
  audits: z.array(auditSchema),
  users: z.array(z.object({ id: z.number(), role: z.string().nullish() })).nullish(),
  meta: z.object({ has_more: z.boolean(), after_cursor: z.string().nullish() }).nullish(),
});
const updatedSchema = z.object({ audit: auditSchema });

type Audit = z.infer<typeof auditSchema>;

/** The way back to Zendesk Support. @throws InvalidInputError when the URL cannot be used */
export function zendeskTarget(options: ZendeskOptions): DeliveryTarget {
  const { userId, email, apiToken } = options;
  const marks = options.marks ?? DEFAULT_MARKS;
  const credentials = Buffer.from(`${email}/token:${apiToken}`).toString('base64');
  const place = {
    url: endpointOf('url', options.url, options.development ?? false),
    headers: { authorization: `Basic ${credentials}` },
  };

  const desk: Desk<ZendeskTicket> = {
    async read(api, message, reach) {
      const { ticket } = parsed(ticketSchema, await api.read(`${pathOf(message)}.json`));
      const { audits, roles } = await auditsOf(api, message, reach);
      const ours = audits.find((audit) => referenceOf(audit) === message.reference);
      const speaker = lastSpeaker(audits);
      const spokenFor =
        speaker !== undefined &&
        speaker !== userId &&
        speaker !== ticket.requester_id &&
        ['agent', 'admin'].includes(roles.get(speaker) ?? '');
      const assigned = ticket.assignee_id !== null && ticket.assignee_id !== userId;
      return {
        life: lifeOf(ticket.status, ticket.tags),
        human: assigned || spokenFor,
        ours: ours === undefined ? undefined : commentIdOf(ours),
        tags: ticket.tags,
        updatedAt: ticket.updated_at,
      };
    },

    /** One step that Zendesk refuses if anything about the ticket changed since it was read. */
    async write(api, message, { tags, updatedAt }) {
      const mark = marks[message.kind];
      const answer = await api.write('PUT', `${pathOf(message)}.json`, {
        ticket: {
          comment: { html_body: asHtml(message.text), public: !isPrivate(message) },
          metadata: { [REFERENCE]: message.reference },
          ...(mark?.status === undefined ? {} : { status: mark.status }),
          ...(mark?.tags === undefined ? {} : { tags: [...new Set([...tags, ...mark.tags])] }),
          safe_update: true,
          updated_stamp: updatedAt,
        },
      });
      const id = commentIdOf(parsed(updatedSchema, answer, 'unknown').audit);
      if (id === undefined) {
        throw new DeskCallError({ kind: 'unknown', reason: 'unreadable_answer' });
      }
      return id;
    },
  };
  return deskTarget(place, desk);
}

function pathOf({ externalId }: OutgoingMessage): string {
  return `/api/v2/tickets/${externalId}`;
}

/** Newest first. @throws DeskCallError when there are more than could ever be ours */
async function auditsOf(api: DeskApi, message: OutgoingMessage, reach: 'newest' | 'all') {
  const audits: Audit[] = [];
  const roles = new Map<number, string>();
  let after: string | undefined;
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const query = new URLSearchParams({
      sort: '-created_at',
      include: 'users',
      'page[size]': String(AUDIT_PAGE),
      ...(after === undefined ? {} : { 'page[after]': after }),
    });
    const path = `${pathOf(message)}/audits.json?${query.toString()}`;
    const { audits: some, users, meta } = parsed(auditsSchema, await api.read(path));
    audits.push(...some);
    for (const { id, role } of users ?? []) roles.set(id, role ?? '');
    const found = some.some((audit) => referenceOf(audit) === message.reference);
    after = meta?.has_more === true ? (meta.after_cursor ?? undefined) : undefined;
    if (found || reach === 'newest' || after === undefined) return { audits, roles };
  }
  throw new DeskCallError({ kind: 'not_sent', reason: 'too_many_messages' });
}

function lifeOf(status: string, tags: readonly string[]): Ticket['life'] {
  if (status === 'closed') return tags.includes(MERGED_TAG) ? 'merged' : 'closed';
  return status === 'solved' ? 'resolved' : 'open';
}

function lastSpeaker(newestFirst: readonly Audit[]): number | undefined {
  for (const { author_id: author, events } of newestFirst) {
    const comment = events.find(({ type, public: open }) => type === 'Comment' && open === true);
    if (comment !== undefined) return comment.author_id ?? author;
  }
  return undefined;
}

function referenceOf({ metadata }: Audit): unknown {
  return metadata?.custom?.[REFERENCE];
}

function commentIdOf({ events }: Audit): string | undefined {
  const comment = events.find(({ type }) => type === 'Comment');
  return comment === undefined ? undefined : String(comment.id);
}
