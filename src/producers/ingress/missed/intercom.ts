import { z } from 'zod';
import { InvalidInputError } from '../../../contracts/index.ts';
import { id, maybe, text } from '../facts.ts';
import { inOrder, pages, seconds, type FindMissed } from './missed.ts';

const found = z.object({
  conversations: z.array(z.object({ id })),
  pages: maybe(z.object({ next: maybe(z.object({ starting_after: text })) })),
});

const part = z.looseObject({ id, body: text, created_at: z.number() });
const conversation = z.looseObject({
  id,
  created_at: z.number(),
  source: maybe(z.looseObject({ author: z.object({ type: z.string() }) })),
  conversation_parts: maybe(z.object({ conversation_parts: z.array(part) })),
});

const PER_PAGE = 100;

/** Below `https://api.intercom.io` or that of another region. */
export const intercom: FindMissed = async function* (api, since) {
  const { post } = api;
  if (post === undefined) {
    throw new InvalidInputError('api.post', undefined, 'Intercom is searched by POST: use httpApi');
  }
  const changed = pages('', async (after) => {
    const answer = await post('/conversations/search', {
      query: { field: 'updated_at', operator: '>', value: seconds(since) - 1 },
      sort: { field: 'updated_at', order: 'descending' },
      pagination: { per_page: PER_PAGE, ...(after === '' ? {} : { starting_after: after }) },
    });
    const { conversations, pages: places } = found.parse(answer);
    return { items: conversations, next: places?.next?.starting_after };
  });
  for await (const one of changed) {
    const path = `/conversations/${encodeURIComponent(one.id)}`;
    const { conversation_parts: parts, ...rest } = conversation.parse(await api.get(path));
    const said = (parts?.conversation_parts ?? []).filter(({ body }) => (body ?? '') !== '');
    yield inOrder([
      ...(rest.source === undefined
        ? []
        : [
            {
              at: rest.created_at * 1_000,
              body: { topic: 'conversation.user.created', data: { item: rest } },
            },
          ]),
      ...said.map((latest) => ({
        at: latest.created_at * 1_000,
        body: {
          topic: 'conversation.user.replied',
          data: { item: { ...rest, conversation_parts: { conversation_parts: [latest] } } },
        },
      })),
    ]);
  }
};
