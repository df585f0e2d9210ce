import { z } from 'zod';
import { id, maybe, text } from '../facts.ts';
import { inOrder, pages, seconds, type FindMissed, type Missed } from './missed.ts';

const ticket = z.object({
  id,
  subject: text,
  status: text,
  via: maybe(z.object({ channel: text })),
});
type Ticket = z.output<typeof ticket>;

const changes = z.object({
  tickets: z.array(ticket),
  after_cursor: text,
  end_of_stream: z.boolean(),
});

const comments = z.object({
  comments: z.array(
    z.object({
      id,
      author_id: id,
      plain_body: text,
      body: text,
      public: z.boolean(),
      created_at: z.string(),
    }),
  ),
  users: maybe(z.array(z.object({ id, role: z.string() }))),
  meta: maybe(z.object({ has_more: z.boolean(), after_cursor: text })),
});
type Comments = z.output<typeof comments>;

/** Of a ticket that was deleted the list of changes still tells. */
const GONE = 'deleted';
/** What the event of a new ticket calls its first comment. */
const FIRST = 'description';

/**
 * Below the address of the system, with the rights of an administrator: the export of changes asks for them. It leaves out
 * the last minute, which the next look finds.
 */
export const zendesk: FindMissed = async function* (api, since) {
  const changed = pages(`start_time=${seconds(since)}`, async (place) => {
    const path = `/api/v2/incremental/tickets/cursor.json?${place}`;
    const { tickets, after_cursor: after, end_of_stream } = changes.parse(await api.get(path));
    const isLast = end_of_stream || after === undefined;
    return {
      items: tickets.filter(({ status }) => status !== GONE),
      next: isLast ? undefined : `cursor=${encodeURIComponent(after)}`,
    };
  });
  for await (const one of changed) {
    const staff = new Set<string>();
    const read: Comments['comments'] = [];
    const all = pages('', async (place) => {
      const path = `/api/v2/tickets/${encodeURIComponent(one.id)}/comments.json?include=users&page[size]=100${place}`;
      const { comments: items, users, meta } = comments.parse(await api.get(path));
      for (const user of users ?? []) if (user.role !== 'end-user') staff.add(user.id);
      const after = meta?.has_more === true ? meta.after_cursor : undefined;
      return {
        items,
        next: after === undefined ? undefined : `&page[after]=${encodeURIComponent(after)}`,
      };
    });
    for await (const comment of all) read.push(comment);
    const missed = inOrder(read.map((comment) => missedOf(one, comment, staff)));
    yield missed.map((said, place) => (place === 0 ? { ...said, aliases: [FIRST] } : said));
  }
};

function missedOf(
  { id: ticketId, subject, via }: Ticket,
  comment: Comments['comments'][number],
  staff: ReadonlySet<string>,
): Missed {
  return {
    at: Date.parse(comment.created_at),
    body: {
      type: 'zen:event-type:ticket.comment_added',
      id: `reread-${comment.id}`,
      detail: { id: ticketId, subject, via },
      event: {
        comment: {
          id: comment.id,
          body: comment.plain_body ?? comment.body,
          is_public: comment.public,
          author: { id: comment.author_id, is_staff: staff.has(comment.author_id) },
        },
      },
    },
  };
}
