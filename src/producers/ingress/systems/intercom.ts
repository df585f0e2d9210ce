import { z } from 'zod';
import { defineAdapter, HOUR_MS } from '../adapter.ts';
import { anything, id, maybe, nothing, text, type Author, type Fact } from '../facts.ts';
import { hmac } from '../signature.ts';
import { looksLikeHtml } from '../text/index.ts';

const author = z.object({
  type: z.string(),
  id: maybe(id),
  email: text,
  from_ai_agent: maybe(z.boolean()),
});

const part = z.object({
  id,
  part_type: text,
  body: text,
  author,
  attachments: maybe(
    z.array(z.object({ name: text, content_type: text, filesize: maybe(z.number()) })),
  ),
});
type Part = z.output<typeof part>;

const notification = z.object({
  /** None in a ping. */
  id: text,
  topic: z.string(),
  data: z.object({ item: anything }),
});

const conversation = z.object({
  id,
  title: text,
  source: maybe(part.omit({ part_type: true }).extend({ delivered_as: text, type: text })),
  conversation_parts: maybe(z.object({ conversation_parts: z.array(part) })),
});
type Conversation = z.output<typeof conversation>;

/** Answers within 500 ms or everything of ours comes later: nothing but checking and storing happens in a request. */
export const intercom = defineAdapter({
  verify: hmac({
    header: 'x-hub-signature',
    prefix: 'sha1=',
    signed: ['body'],
    hash: 'sha1',
    encoding: 'hex',
  }),
  redelivery: { by: 'source', forMs: 2 * HOUR_MS },
  own: 'authors',
  facts(payload) {
    const { id: deliveryId, topic, data } = notification.parse(payload);
    if (topic === 'ping') return [nothing('ping')];
    if (!topic.startsWith('conversation.')) return [nothing('no_message')];
    const item = conversation.parse(data.item);
    const said = SAID[topic];
    if (said !== undefined) return [said(item, deliveryId)];
    const change = CHANGE[topic];
    return change === undefined
      ? [nothing('no_message', item.id)]
      : [{ fact: 'change', change, conversationId: item.id }];
  },
});

const CHANGE: Readonly<Record<string, 'closed' | 'reopened' | 'deleted' | undefined>> = {
  'conversation.admin.closed': 'closed',
  'conversation.admin.opened': 'reopened',
  'conversation.deleted': 'deleted',
};

type Say = (item: Conversation, deliveryId: string | undefined) => Fact;

/** Where the new message of a topic stands: it opened the conversation, or it is the last of its parts. */
const SAID: Readonly<Record<string, Say | undefined>> = {
  'conversation.user.created': opening,
  'conversation.admin.single.created': opening,
  'conversation.user.replied': latest,
  'conversation.admin.replied': latest,
  'conversation.admin.noted': latest,
};

function opening(item: Conversation, deliveryId: string | undefined): Fact {
  if (item.source === undefined) throw new TypeError('a new conversation without its source');
  return message(item, { ...item.source, part_type: 'comment' }, deliveryId);
}

function latest(item: Conversation, deliveryId: string | undefined): Fact {
  const last = item.conversation_parts?.conversation_parts.at(-1);
  if (last === undefined) throw new TypeError('a reply without a conversation part');
  return message(item, last, deliveryId);
}

function message(item: Conversation, said: Part, deliveryId: string | undefined): Fact {
  const body = said.body ?? '';
  return {
    fact: 'message',
    conversationId: item.id,
    messageId: said.id,
    deliveryId,
    author: { kind: kindOf(said.author), id: said.author.id, email: said.author.email },
    body: {
      // HTML up to version 2.14 of the API, plain text from 2.15 on.
      ...(looksLikeHtml(body) ? { html: body } : { text: body }),
      attachments: (said.attachments ?? []).map((file) => ({
        name: file.name,
        type: file.content_type,
        bytes: file.filesize,
      })),
      mail: item.source?.type === 'email',
    },
    subject: item.title,
    channel: item.source?.type,
    internal: said.part_type === 'note',
  };
}

function kindOf({ type, from_ai_agent }: z.output<typeof author>): Author['kind'] {
  if (from_ai_agent === true) return 'machine';
  if (['user', 'lead', 'contact'].includes(type)) return 'customer';
  return type === 'admin' ? 'agent' : 'machine';
}
