import { z } from 'zod';
import { id, maybe, text } from '../facts.ts';
import { inOrder, pages, type FindMissed, type Missed } from './missed.ts';

const conversation = z.object({
  id,
  status: text,
  last_activity_at: maybe(z.number()),
  timestamp: maybe(z.number()),
  meta: maybe(z.object({ channel: text, hmac_verified: maybe(z.boolean()) })),
});
type Conversation = z.output<typeof conversation>;

const conversations = z.object({ data: z.object({ payload: z.array(conversation) }) });

const message = z.object({
  id: z.number(),
  content: text,
  message_type: z.number(),
  created_at: z.number(),
  private: maybe(z.boolean()),
  content_attributes: maybe(z.object({ deleted: maybe(z.boolean()) })),
  sender: maybe(z.unknown()),
  attachments: maybe(z.array(z.unknown())),
});
type Message = z.output<typeof message>;

const messages = z.object({ payload: z.array(message) });

/** The words of a delivery for the numbers of the API. */
const TYPES = ['incoming', 'outgoing', 'activity', 'template'];
const MESSAGE_PAGE = 20;

/** Below `/api/v1/accounts/<id>`. The list comes newest activity first: what moves while it is read moves to the front. */
export const chatwoot: FindMissed = async function* (api, since) {
  const changed = pages(1, async (page) => {
    const path = `/conversations?status=all&assignee_type=all&sort_by=last_activity_at_desc&page=${page}`;
    const { payload } = conversations.parse(await api.get(path)).data;
    const items = payload.filter((one) => activeAt(one) >= since);
    const isLast = payload.length === 0 || items.length < payload.length;
    return { items, next: isLast ? undefined : page + 1 };
  });
  for await (const one of changed) {
    const read: Message[] = [];
    const newestFirst = pages('', async (before) => {
      const path = `/conversations/${encodeURIComponent(one.id)}/messages${before}`;
      const { payload } = messages.parse(await api.get(path));
      const oldest = payload.toSorted((a, b) => a.id - b.id)[0];
      const isLast = payload.length < MESSAGE_PAGE || (oldest?.created_at ?? 0) * 1_000 < since;
      return {
        items: payload,
        next: isLast || oldest === undefined ? undefined : `?before=${oldest.id}`,
      };
    });
    for await (const said of newestFirst) read.push(said);
    yield inOrder(
      read
        .filter((said) => said.content_attributes?.deleted !== true)
        .map((said) => missedOf(one, said)),
    );
  }
};

/** Seconds; whole ones, so that the rest of the second counts too. */
function activeAt({ last_activity_at: at, timestamp }: Conversation): number {
  return ((at ?? timestamp ?? Infinity) + 1) * 1_000;
}

function missedOf({ id: thread, status, meta }: Conversation, said: Message): Missed {
  const { id: messageId, content, sender, attachments, private: internal } = said;
  return {
    at: said.created_at * 1_000,
    body: {
      event: 'message_created',
      ...{ id: messageId, content, sender, attachments, private: internal },
      message_type: TYPES[said.message_type] ?? 'activity',
      conversation: {
        ...{ id: thread, status, channel: meta?.channel },
        contact_inbox: { hmac_verified: meta?.hmac_verified },
      },
    },
  };
}
