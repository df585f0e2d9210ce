import { z } from 'zod';
import {
  InvalidInputError,
  type DeliveryTarget,
  type OutgoingMessage,
} from '../contracts/index.ts';
import {
  deskTarget,
  HANDOVER_TAG,
  isPrivate,
  parsed,
  type Desk,
  type Marks,
  type Ticket,
} from './desk.ts';
import { endpointOf } from './endpoint.ts';

export type ZammadOptions = {
  /** For example https://zammad.example.com */
  url: string;
  /** The agent's own user: its articles are ours, and what it owns is ours. */
  userId: number;
  token: string;
  /** States by name that keep a ticket open. Default: a hand-over sets `open` and a tag. */
  marks?: Marks<string>;
  /** Names of the states in which a ticket is done. Default `closed` and `removed`. */
  closedStates?: readonly string[];
  /** Allows plain http. Default false. */
  development?: boolean;
};

type ZammadTicket = Ticket & { state: string; customerId: number; last: Article | undefined };

const DEFAULT_MARKS: NonNullable<ZammadOptions['marks']> = {
  handover: { status: 'open', tags: [HANDOVER_TAG] },
};
/** Where our reference lies. The mail's own message id is no place for it: Zammad always makes that itself. */
const REFERENCE = 'turnkeeper_reference';
/** The user that stands for nobody. */
const NOBODY = 1;
/** A customer who came on one of these ways is answered by mail; on any other in kind. */
const ANSWERED_BY_MAIL = ['email', 'web', 'phone', 'note'];

const ticketSchema = z.object({
  state: z.string(),
  owner_id: z.number().nullish(),
  customer_id: z.number(),
});
const articleSchema = z.object({
  id: z.number(),
  type: z.string(),
  sender: z.string(),
  internal: z.boolean(),
  created_by_id: z.number(),
  message_id: z.string().nullish(),
  preferences: z.record(z.string(), z.unknown()).nullish(),
});
const articlesSchema = z.array(articleSchema);
const userSchema = z.object({ email: z.string().min(1) });
const writtenSchema = z.object({ id: z.number() });

type Article = z.infer<typeof articleSchema>;

/** The way back to Zammad. @throws InvalidInputError when the URL or a mark cannot be used */
export function zammadTarget(options: ZammadOptions): DeliveryTarget {
  const { userId, token, closedStates = ['closed', 'removed'] } = options;
  const marks = options.marks ?? DEFAULT_MARKS;
  for (const [kind, mark] of Object.entries(marks)) {
    // The state is set before the message: a ticket that is closed by then takes none.
    if (mark.status !== undefined && [...closedStates, 'merged'].includes(mark.status)) {
      const field = `marks.${kind}.status`;
      throw new InvalidInputError(field, mark.status, 'name a state that keeps the ticket open');
    }
  }
  const place = {
    url: endpointOf('url', options.url, options.development ?? false),
    headers: { authorization: `Token token=${token}` },
  };

  const desk: Desk<ZammadTicket> = {
    async read(api, message) {
      const { externalId, reference } = message;
      const ticket = parsed(ticketSchema, await api.read(`${pathOf(message)}?expand=true`));
      const path = `/api/v1/ticket_articles/by_ticket/${externalId}?expand=true`;
      const articles = parsed(articlesSchema, await api.read(path)).toSorted((a, b) => a.id - b.id);
      const ours = articles.find(({ preferences }) => preferences?.[REFERENCE] === reference);
      const spoken = articles.findLast(
        ({ internal, sender }) => !internal && ['Agent', 'Customer'].includes(sender),
      );
      const owner = ticket.owner_id ?? NOBODY;
      return {
        life: lifeOf(ticket.state, closedStates),
        human:
          ![NOBODY, userId].includes(owner) ||
          (spoken?.sender === 'Agent' && spoken.created_by_id !== userId),
        ours: ours === undefined ? undefined : String(ours.id),
        state: ticket.state,
        customerId: ticket.customer_id,
        last: articles.findLast(({ sender }) => sender === 'Customer'),
      };
    },

    async mark(api, message, { state }) {
      const { status, tags = [] } = marks[message.kind] ?? {};
      if (status !== undefined && status !== state) {
        await api.change('PUT', pathOf(message), { state: status });
      }
      for (const item of tags) {
        const tag = { item, object: 'Ticket', o_id: Number(message.externalId) };
        await api.change('POST', '/api/v1/tags/add', tag);
      }
    },

    async write(api, message, { customerId, last }) {
      const type = typeOf(message, last);
      // To the customer of the ticket: the sender of a mail can be forged.
      const to =
        type === 'email'
          ? { to: parsed(userSchema, await api.read(`/api/v1/users/${customerId}`)).email }
          : {};
      const answered = last?.message_id ?? undefined;
      const answer = await api.write('POST', '/api/v1/ticket_articles', {
        ticket_id: Number(message.externalId),
        body: message.text,
        content_type: 'text/plain',
        type,
        ...to,
        ...(type === 'note' || answered === undefined ? {} : { in_reply_to: answered }),
        sender: 'Agent',
        internal: isPrivate(message),
        preferences: { [REFERENCE]: message.reference },
      });
      return String(parsed(writtenSchema, answer, 'unknown').id);
    },
  };
  return deskTarget(place, desk);
}

function pathOf({ externalId }: OutgoingMessage): string {
  return `/api/v1/tickets/${externalId}`;
}

function lifeOf(state: string, closedStates: readonly string[]): Ticket['life'] {
  if (state === 'merged') return 'merged';
  return closedStates.includes(state) ? 'resolved' : 'open';
}

/** A private message must be a note: a mail marked internal still goes out. */
function typeOf(message: OutgoingMessage, last: Article | undefined): string {
  if (isPrivate(message)) return 'note';
  return last === undefined || ANSWERED_BY_MAIL.includes(last.type) ? 'email' : last.type;
}
