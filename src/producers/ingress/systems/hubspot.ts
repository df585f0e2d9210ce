import { z } from 'zod';
import { DAY_MS, defineAdapter } from '../adapter.ts';
import { id, maybe, nothing, text, type Author, type Fact } from '../facts.ts';
import { hmac } from '../signature.ts';

/** Up to a hundred events, of any conversations. */
const batch = z.array(
  z.object({
    portalId: id,
    subscriptionType: z.string(),
    /** The thread, of `conversation.*` events. */
    objectId: id,
    messageId: maybe(id),
    messageType: text,
    propertyName: text,
    propertyValue: text,
  }),
);
type Event = z.output<typeof batch>[number];

const message = z.object({
  id,
  type: z.string(),
  direction: text,
  text,
  richText: text,
  senders: z.array(
    z.object({ actorId: text, deliveryIdentifier: maybe(z.object({ type: text, value: text })) }),
  ),
});

export const hubspot = defineAdapter({
  verify: hmac({
    header: 'x-hubspot-signature-v3',
    stamp: { header: 'x-hubspot-request-timestamp', unit: 'ms' },
    signed: ['method', 'url', 'body', 'stamp'],
    hash: 'sha256',
    encoding: 'base64',
  }),
  redelivery: { by: 'source', forMs: 3 * DAY_MS },
  own: 'authors',
  facts: (payload) => batch.parse(payload).map(eventFact),
  reread: {
    path: ({ conversationId, messageId }) =>
      `/conversations/v3/conversations/threads/${encodeURIComponent(conversationId)}/messages/${encodeURIComponent(messageId)}`,
    facts(answer, { conversationId }) {
      const { id: messageId, ...said } = message.parse(answer);
      const [sender] = said.senders;
      const address = sender?.deliveryIdentifier;
      const isMail = address?.type === 'HS_EMAIL_ADDRESS';
      return [
        {
          fact: 'message',
          conversationId,
          messageId,
          author: {
            kind: said.direction === 'OUTGOING' ? writerOf(sender?.actorId) : 'customer',
            id: sender?.actorId,
            email: isMail ? address.value : undefined,
          },
          body: { text: said.text, html: said.richText, mail: isMail },
          internal: said.type === 'COMMENT',
        },
      ];
    },
  },
});

/** Events carry no text, and not who wrote: every message is read again. Tickets hold none: theirs are in threads. */
function eventFact(event: Event): Fact {
  const { objectId: conversationId, messageId } = event;
  switch (event.subscriptionType) {
    case 'conversation.newMessage':
      if (messageId === undefined) throw new TypeError('newMessage without messageId');
      return {
        fact: 'message',
        conversationId,
        messageId,
        // Event ids repeat over portals.
        deliveryId: `${event.portalId}-${conversationId}-${messageId}`,
        author: { kind: 'customer' },
        body: { text: '' },
        internal: event.messageType === 'COMMENT',
        missing: ['text', 'author'],
      };
    case 'conversation.deletion':
    case 'conversation.privacyDeletion':
      return { fact: 'change', change: 'deleted', conversationId };
    case 'conversation.propertyChange':
      return event.propertyName === 'status' && event.propertyValue === 'CLOSED'
        ? { fact: 'change', change: 'closed', conversationId }
        : nothing('no_message', conversationId);
    default:
      return nothing('no_message');
  }
}

/** Actors are named by kind and number: `A-` is a user of the account, everything else that sends out is a program. */
function writerOf(actorId: string | undefined): Author['kind'] {
  return actorId?.startsWith('A-') === true ? 'agent' : 'machine';
}
