import { z } from 'zod';
import { defineAdapter, HOUR_MS, type Reread } from '../adapter.ts';
import {
  anything,
  id,
  maybe,
  nothing,
  text,
  type Author,
  type Fact,
  type MessageFact,
} from '../facts.ts';
import { header } from '../request.ts';
import { hmac } from '../signature.ts';

const message = z.object({
  id,
  type: text,
  is_inbound: z.boolean(),
  is_draft: maybe(z.boolean()),
  subject: text,
  body: text,
  text,
  author: maybe(z.object({ id, email: text })),
  recipients: maybe(z.array(z.object({ handle: text, role: z.string() }))),
  attachments: maybe(
    z.array(z.object({ filename: text, content_type: text, size: maybe(z.number()) })),
  ),
});

type Message = z.output<typeof message>;

const event = z.object({
  id,
  type: z.string(),
  conversation: z.object({ id }),
  source: maybe(z.object({ _meta: maybe(z.object({ type: text })) })),
  target: maybe(z.object({ _meta: maybe(z.object({ type: text })), data: anything })),
});
type Event = z.output<typeof event>;

const reread: Reread = {
  path: ({ messageId }) => `/messages/${encodeURIComponent(messageId)}`,
  facts: (answer, { conversationId }) => [factOf(conversationId, message.parse(answer), 'agent')],
};

const wrapped = z.object({ type: z.string(), payload: anything });

/** Hooks of an application: signed with its key, sent up to three times. */
export const frontApp = defineAdapter({
  verify: hmac({
    header: 'x-front-signature',
    stamp: { header: 'x-front-request-timestamp', unit: 'ms' },
    signed: ['stamp', ':', 'body'],
    hash: 'sha256',
    encoding: 'base64',
  }),
  redelivery: { by: 'source', forMs: HOUR_MS },
  own: 'none',
  reread,
  facts(body, request) {
    const { type, payload } = wrapped.parse(body);
    if (type === 'sync') {
      const answer = header(request, 'x-front-challenge');
      return answer === undefined ? [nothing('ping')] : [{ fact: 'challenge', answer }];
    }
    return eventFacts(event.parse(payload));
  },
});

/** Hooks of a rule: another key and hash under the same header name, the bare event, and never sent again. */
export const frontRule = defineAdapter({
  verify: hmac({
    header: 'x-front-signature',
    signed: ['body'],
    hash: 'sha1',
    encoding: 'base64',
  }),
  redelivery: { by: 'nobody', forMs: HOUR_MS },
  own: 'none',
  reread,
  facts: (body) => eventFacts(event.parse(body)),
});

/** Applications and rules have different words for the same. */
const CHANGE: Readonly<Record<string, 'closed' | 'reopened' | 'deleted' | undefined>> = {
  archive: 'closed',
  conversation_archived: 'closed',
  reopen: 'reopened',
  conversation_reopened: 'reopened',
  trash: 'deleted',
  conversation_deleted: 'deleted',
};
const MESSAGES: readonly string[] = [
  ...['inbound', 'inbound_received', 'outbound', 'outbound_sent', 'out_reply'],
];
const COMMENTS: readonly string[] = ['comment', 'mention', 'new_comment_added'];

function eventFacts(said: Event): Fact[] {
  const { type, conversation } = said;
  if (type === 'conversations_merged') return mergeFacts(said);
  const change = CHANGE[type];
  if (change !== undefined) return [{ fact: 'change', change, conversationId: conversation.id }];
  if (COMMENTS.includes(type)) return [nothing('private_note', conversation.id)];
  if (!MESSAGES.includes(type)) return [nothing('no_message', conversation.id)];
  const data = message.parse(said.target?.data);
  return [
    data.is_draft === true ? nothing('no_message', conversation.id) : messageFact(said, data),
  ];
}

const gone = z.array(z.union([id, z.object({ id }).transform((one) => one.id)]));

/** Told of the conversation that is left; its target are those that are not there any more. */
function mergeFacts({ conversation, target }: Event): Fact[] {
  // A preview does not say which.
  if (target?.data === undefined) return [nothing('no_message', conversation.id)];
  return gone.parse(target.data).map((conversationId): Fact => ({
    fact: 'change',
    change: 'merged',
    conversationId,
    into: conversation.id,
  }));
}

function messageFact(said: Event, data: Message): Fact {
  const fact = {
    ...factOf(said.conversation.id, data, kindOf(said)),
    deliveryId: said.id,
  };
  // Some hooks send a preview.
  const preview = data.text === undefined && data.body === undefined;
  return preview ? { ...fact, missing: ['text', 'author'] } : fact;
}

function factOf(conversationId: string, data: Message, sentBy: Author['kind']): MessageFact {
  const from = data.recipients?.find(({ role }) => role === 'from')?.handle;
  const author: Author = data.is_inbound
    ? { kind: 'customer', ...(from?.includes('@') === true ? { email: from } : { id: from }) }
    : { kind: sentBy, id: data.author?.id };
  return {
    fact: 'message',
    conversationId,
    messageId: data.id,
    author,
    body: {
      text: data.text,
      html: data.body,
      attachments: (data.attachments ?? []).map((file) => ({
        name: file.filename,
        type: file.content_type,
        bytes: file.size,
      })),
      mail: data.type === 'email',
    },
    subject: data.subject,
    channel: data.type,
  };
}

/** What goes out is a person's unless the API or a rule sent it: a doubt must not let us talk over somebody. */
function kindOf({ source }: Event): Author['kind'] {
  const by = source?._meta?.type;
  return by === 'api' || by === 'rule' ? 'machine' : 'agent';
}
