import { z } from 'zod';
import { DAY_MS, defineAdapter } from '../adapter.ts';
import { id, maybe, nothing, text, type Author, type Fact } from '../facts.ts';
import { bodyKey, header } from '../request.ts';
import { hmac } from '../signature.ts';
import { looksLikeHtml } from '../text/index.ts';

const person = z.object({ id: maybe(id), type: text, email: text });

const thread = z.object({
  id,
  type: z.string(),
  state: text,
  body: text,
  createdBy: maybe(person),
  source: maybe(z.object({ type: text })),
  /** What a line item tells of. */
  action: maybe(
    z.object({
      type: text,
      associatedEntities: maybe(z.object({ originalConversation: maybe(id) })),
    }),
  ),
  _embedded: maybe(
    z.object({
      attachments: maybe(
        z.array(z.object({ filename: text, mimeType: text, size: maybe(z.number()) })),
      ),
    }),
  ),
});
type Thread = z.output<typeof thread>;

/** May come without its threads. */
const conversation = z.object({
  id,
  type: text,
  status: text,
  subject: text,
  primaryCustomer: maybe(person),
  _embedded: maybe(z.object({ threads: maybe(z.array(thread)) })),
});
type Conversation = z.output<typeof conversation>;

const threads = z.object({ _embedded: z.object({ threads: z.array(thread) }) });

const MESSAGES: readonly unknown[] = [
  ...['convo.created', 'convo.customer.reply.created', 'convo.agent.reply.created'],
  'convo.note.created',
];

export const helpscout = defineAdapter({
  verify: hmac({
    header: 'x-helpscout-signature',
    signed: ['body'],
    hash: 'sha1',
    encoding: 'base64',
  }),
  // Sends again, on a plan it does not publish.
  redelivery: { by: 'source', forMs: 3 * DAY_MS },
  own: 'authors',
  facts(payload, request) {
    const event = header(request, 'x-helpscout-event');
    const item = conversation.parse(payload);
    const conversationId = item.id;
    if (event === 'convo.merged') return mergeFacts(item);
    if (event === 'convo.deleted') return [{ fact: 'change', change: 'deleted', conversationId }];
    if (event === 'convo.status') {
      return item.status === 'closed'
        ? [{ fact: 'change', change: 'closed', conversationId }]
        : [nothing('no_message', conversationId)];
    }
    if (!MESSAGES.includes(event)) return [nothing('no_message', conversationId)];
    // No delivery id: the same body for the same event is the same delivery.
    const deliveryId = `${event}-${bodyKey(request)}`;
    const newest = item._embedded?.threads?.find(({ type }) => type !== 'lineitem');
    if (newest !== undefined) return [threadFact(item, newest, deliveryId)];
    if (event !== 'convo.customer.reply.created' && event !== 'convo.created') {
      return [nothing('no_message', conversationId)];
    }
    return [unread(item, deliveryId, bodyKey(request))];
  },
  reread: {
    path: ({ conversationId }) => `/v2/conversations/${encodeURIComponent(conversationId)}/threads`,
    facts: (answer, { conversationId }) =>
      threads
        .parse(answer)
        ._embedded.threads.filter(({ type }) => type !== 'lineitem')
        .map((one) => threadFact({ id: conversationId, type: 'email' }, one)),
  },
});

/**
 * With its line items it says which conversations are gone, and is about the one that is left. Without them it does not: that
 * one is left to people.
 */
function mergeFacts({ id: conversationId, _embedded }: Conversation): Fact[] {
  const gone = (_embedded?.threads ?? []).flatMap(({ action }) =>
    action?.type === 'merged' ? (action.associatedEntities?.originalConversation ?? []) : [],
  );
  if (gone.length === 0) return [{ fact: 'change', change: 'merged', conversationId }];
  return [...new Set(gone)].map((from): Fact => ({
    fact: 'change',
    change: 'merged',
    conversationId: from,
    into: conversationId,
  }));
}

function threadFact(
  item: Pick<Conversation, 'id' | 'type'> & { subject?: string | undefined },
  said: Thread,
  deliveryId?: string,
): Fact {
  const body = said.body ?? '';
  return {
    fact: 'message',
    conversationId: item.id,
    messageId: said.id,
    deliveryId,
    author: { kind: kindOf(said), id: said.createdBy?.id, email: said.createdBy?.email },
    body: {
      ...(looksLikeHtml(body) ? { html: body } : { text: body }),
      attachments: (said._embedded?.attachments ?? []).map((file) => ({
        name: file.filename,
        type: file.mimeType,
        bytes: file.size,
      })),
      mail: item.type === 'email',
    },
    subject: item.subject,
    channel: item.type,
    internal: said.type === 'note' || said.state === 'draft',
  };
}

function unread(item: Conversation, deliveryId: string, messageId: string): Fact {
  const { id: customerId, email } = item.primaryCustomer ?? {};
  return {
    fact: 'message',
    conversationId: item.id,
    messageId,
    deliveryId,
    author: { kind: 'customer', id: customerId, email },
    body: { text: '' },
    subject: item.subject,
    channel: item.type,
    missing: ['messageId', 'text', 'author'],
  };
}

function kindOf({ createdBy, source }: Thread): Author['kind'] {
  if (createdBy?.type === 'customer') return 'customer';
  return source?.type === 'api' ? 'machine' : 'agent';
}
