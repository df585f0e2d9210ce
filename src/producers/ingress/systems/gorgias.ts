import { z } from 'zod';
import { defineAdapter, HOUR_MS } from '../adapter.ts';
import { id, maybe, nothing, text, type Author } from '../facts.ts';
import { shared } from '../signature.ts';

const message = z.object({
  id,
  channel: text,
  via: text,
  from_agent: z.boolean(),
  public: maybe(z.boolean()),
  sender: maybe(z.object({ id, email: text })),
  subject: text,
  body_text: text,
  body_html: text,
  attachments: maybe(
    z.array(z.object({ name: text, content_type: text, size: maybe(z.number()) })),
  ),
});
type Message = z.output<typeof message>;

/** What the template of the HTTP integration has to send. */
const payload = z.object({
  id,
  type: z.string(),
  data: z.object({
    ticket: z.object({
      id,
      status: text,
      messages: maybe(z.array(message)),
    }),
  }),
});

export const gorgias = defineAdapter({
  verify: shared,
  // After a hundred failures in a row it is switched off, for every ticket.
  redelivery: { by: 'source', forMs: HOUR_MS },
  own: 'none',
  facts(body) {
    const { id: deliveryId, type, data } = payload.parse(body);
    const { ticket } = data;
    const conversationId = ticket.id;
    if (type === 'ticket-closed' || (type === 'ticket-updated' && ticket.status === 'closed')) {
      return [{ fact: 'change', change: 'closed', conversationId }];
    }
    if (type === 'ticket-reopened') return [{ fact: 'change', change: 'reopened', conversationId }];
    const said = ticket.messages?.at(-1);
    if (type !== 'ticket-message-created' && type !== 'ticket-created') {
      return [nothing('no_message', conversationId)];
    }
    if (said === undefined) return [nothing('no_message', conversationId)];
    return [
      {
        fact: 'message',
        conversationId,
        messageId: said.id,
        deliveryId,
        author: { kind: kindOf(said), id: said.sender?.id, email: said.sender?.email },
        body: {
          text: said.body_text,
          html: said.body_html,
          attachments: (said.attachments ?? []).map((file) => ({
            name: file.name,
            type: file.content_type,
            bytes: file.size,
          })),
          mail: said.channel === 'email',
        },
        subject: said.subject,
        channel: said.channel,
        internal: said.public === false || said.channel === 'internal-note',
      },
    ];
  },
});

function kindOf({ from_agent, via }: Message): Author['kind'] {
  if (!from_agent) return 'customer';
  return via === 'api' || via === 'rule' ? 'machine' : 'agent';
}
