import { z } from 'zod';
import { id, maybe, text } from '../facts.ts';
import { inOrder, iso, pages, type FindMissed } from './missed.ts';

const ticket = z.object({ id, title: text });
const article = z.looseObject({
  created_at: z.string(),
  /** The login of its writer, often their address. A delivery has all of them. */
  created_by: maybe(z.unknown()),
});

const PER_PAGE = 100;

/** Below the address of the system. A condition is answered by its database, whether or not it has a search engine. */
export const zammad: FindMissed = async function* (api, since) {
  const changed = pages(1, async (page) => {
    const query = new URLSearchParams({
      'condition[ticket.updated_at][operator]': 'after (absolute)',
      'condition[ticket.updated_at][value]': iso(since),
      ...{ sort_by: 'updated_at', order_by: 'desc', expand: 'true' },
      ...{ page: String(page), per_page: String(PER_PAGE) },
    });
    const items = z
      .array(ticket)
      .parse(await api.get(`/api/v1/tickets/search?${query.toString()}`));
    return { items, next: items.length < PER_PAGE ? undefined : page + 1 };
  });
  for await (const one of changed) {
    const path = `/api/v1/ticket_articles/by_ticket/${encodeURIComponent(one.id)}?expand=true`;
    const articles = z.array(article).parse(await api.get(path));
    yield inOrder(
      articles.map(({ created_by: login, ...said }) => ({
        at: Date.parse(said.created_at),
        body: {
          ticket: one,
          article: {
            ...said,
            created_by:
              typeof login === 'string' && login.includes('@') ? { email: login } : undefined,
          },
        },
      })),
    );
  }
};
