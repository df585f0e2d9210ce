import { z } from 'zod';
import { defineAdapter, HOUR_MS } from '../adapter.ts';
import { anything, id, maybe, nothing, text, type Author, type Fact } from '../facts.ts';
import { header, type WebhookRequest } from '../request.ts';
import { hmac } from '../signature.ts';

const conversation = z.object({
  id,
  channel: text,
  status: text,
  contact_inbox: maybe(z.object({ hmac_verified: maybe(z.boolean()) })),
});

const message = z.object({
  id,
  content: text,
  /** Text here; a number in the messages inside the conversation. */
  message_type: z.enum(['incoming', 'outgoing', 'activity', 'template']),
  private: maybe(z.boolean()),
  conversation,
  sender: maybe(z.object({ id, type: text, email: text })),
  attachments: maybe(
    z.array(z.object({ file_type: text, data_url: text, file_size: maybe(z.number()) })),
  ),
});

const status = z.object({
  /** The conversation's, in events about it. */
  id,
  status: z.string(),
  changed_attributes: maybe(
    z.array(z.record(z.string(), maybe(z.object({ previous_value: anything })))),
  ),
});

export const chatwoot = defineAdapter({
  verify: hmac({
    header: 'x-chatwoot-signature',
    prefix: 'sha256=',
    stamp: { header: 'x-chatwoot-timestamp', unit: 's' },
    signed: ['stamp', '.', 'body'],
    hash: 'sha256',
    encoding: 'hex',
    // Versions before 4.11 sign nothing.
    orShared: true,
  }),
  // Account hooks are never sent again, and those of agent bots on 429 and 500 only.
  redelivery: { by: 'nobody', forMs: HOUR_MS },
  answers: { notStored: { status: 500 } },
  own: 'none',
  facts(payload, request) {
    const { event } = z.object({ event: z.string() }).parse(payload);
    switch (event) {
      case 'message_created':
        return messageFacts(message.parse(payload), request);
      case 'message_updated':
        return [nothing('edited')];
      case 'conversation_status_changed':
        return statusFacts(status.parse(payload));
      default:
        // Also conversation_created: its first message may be a greeting, and the customer's own comes as a message.
        return [nothing('no_message')];
    }
  },
});

function messageFacts(payload: z.output<typeof message>, request: WebhookRequest): Fact[] {
  const { conversation: thread, sender } = payload;
  if (payload.message_type === 'activity') return [nothing('no_message', thread.id)];
  const kind = kindOf(payload.message_type, sender?.type);
  // Bots have a conversation while it is pending. An open one is people's, also if the change itself never reached us.
  const withPeople: Fact[] =
    kind === 'customer' && thread.status === 'open'
      ? [{ fact: 'change', change: 'with_people', conversationId: thread.id }]
      : [];
  return [
    ...withPeople,
    {
      fact: 'message',
      conversationId: thread.id,
      messageId: payload.id,
      deliveryId: header(request, 'x-chatwoot-delivery'),
      author: {
        kind,
        // Contacts, users and bots are counted apart.
        id: sender === undefined ? undefined : `${sender.type ?? 'contact'}-${sender.id}`,
        email: sender?.email,
        proven: thread.contact_inbox?.hmac_verified,
      },
      body: {
        text: payload.content,
        attachments: (payload.attachments ?? []).map((file) => ({
          name: file.data_url?.split('/').at(-1),
          type: file.file_type,
          bytes: file.file_size,
        })),
        mail: thread.channel === 'Channel::Email',
      },
      channel: thread.channel,
      internal: payload.private === true,
    },
  ];
}

function kindOf(type: z.output<typeof message>['message_type'], sender?: string): Author['kind'] {
  if (type === 'incoming') return 'customer';
  return type === 'outgoing' && sender === 'user' ? 'agent' : 'machine';
}

function statusFacts(payload: z.output<typeof status>): Fact[] {
  const { id: conversationId, changed_attributes: changed } = payload;
  const change = changed?.map((one) => one['status']).find((one) => one !== undefined);
  if (payload.status === 'resolved') return [{ fact: 'change', change: 'closed', conversationId }];
  if (payload.status === 'open') return [{ fact: 'change', change: 'with_people', conversationId }];
  return change?.previous_value === 'resolved'
    ? [{ fact: 'change', change: 'reopened', conversationId }]
    : [nothing('no_message', conversationId)];
}
