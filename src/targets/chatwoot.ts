import { z } from 'zod';
import type { DeliveryTarget, OutgoingMessage } from '../contracts/index.ts';
import { DeskCallError, type DeskApi } from './desk-api.ts';
import {
  deskTarget,
  HANDOVER_TAG,
  isPrivate,
  parsed,
  type Desk,
  type Marks,
  type Ticket,
} from './desk.ts';
import { endpointOf } from './endpoint.ts';

export type ChatwootOptions = {
  /** For example https://app.chatwoot.com */
  url: string;
  accountId: number;
  /** The user whose token this is; a bot's token may not read messages. */
  userId: number;
  token: string;
  /** Posts in the name of this agent bot. Default: in the name of the user. */
  botId?: number;
  /** Default: a hand-over sets `open` and a label. */
  marks?: Marks<'open' | 'pending'>;
  /**
   * A conversation that left `pending` was taken by a person. True for inboxes with a bot, which begin as pending;
   * false for those that begin as open. Default true.
   */
  pendingIsOurs?: boolean;
  /** Allows plain http. Default false. */
  development?: boolean;
};

type ChatwootTicket = Ticket & { status: string; labels: readonly string[] };

const DEFAULT_MARKS: NonNullable<ChatwootOptions['marks']> = {
  handover: { status: 'open', tags: [HANDOVER_TAG] },
};
/** Where our reference lies. Not in `source_id`: a channel does not send what seems to come from it. */
const REFERENCE = 'turnkeeper_reference';
const OUTGOING = 1;
const MESSAGE_PAGE = 20;
const MAX_PAGES = 100;

const conversationSchema = z.object({
  status: z.string(),
  labels: z.array(z.string()).nullish(),
  meta: z.object({ assignee: z.object({ id: z.number() }).nullish() }),
});
const messageSchema = z.object({
  id: z.number(),
  message_type: z.number(),
  private: z.boolean(),
  content_attributes: z.record(z.string(), z.unknown()).nullish(),
  sender: z.object({ id: z.number(), type: z.string().nullish() }).nullish(),
});
const messagesSchema = z.object({ payload: z.array(messageSchema) });
const writtenSchema = z.object({ id: z.number() });

type Message = z.infer<typeof messageSchema>;

/** The way back to Chatwoot. @throws InvalidInputError when the URL cannot be used */
export function chatwootTarget(options: ChatwootOptions): DeliveryTarget {
  const { accountId, userId, token, botId, pendingIsOurs = true } = options;
  const marks = options.marks ?? DEFAULT_MARKS;
  const place = {
    url: endpointOf('url', options.url, options.development ?? false),
    headers: { api_access_token: token },
  };
  const pathOf = ({ externalId }: OutgoingMessage): string =>
    `/api/v1/accounts/${accountId}/conversations/${externalId}`;

  const desk: Desk<ChatwootTicket> = {
    async read(api, message, reach) {
      const { status, labels, meta } = parsed(conversationSchema, await api.read(pathOf(message)));
      const messages = await messagesOf(api, `${pathOf(message)}/messages`, message, reach);
      const ours = messages.find((one) => referenceOf(one) === message.reference);
      const spoken = messages.find(({ private: hidden, message_type: type }) => {
        return !hidden && type <= OUTGOING;
      });
      const byPerson =
        spoken?.message_type === OUTGOING &&
        spoken.sender?.type === 'user' &&
        spoken.sender.id !== userId;
      const assignee = meta.assignee?.id;
      // The hand-over itself opens the conversation, perhaps in an earlier try.
      const taken = pendingIsOurs && status !== 'pending' && message.kind !== 'handover';
      return {
        life: status === 'resolved' ? 'resolved' : 'open',
        human: (assignee !== undefined && assignee !== userId) || byPerson || taken,
        ours: ours === undefined ? undefined : String(ours.id),
        status,
        labels: labels ?? [],
      };
    },

    async mark(api, message, before) {
      const { status, tags = [] } = marks[message.kind] ?? {};
      if (status !== undefined && status !== before.status) {
        await api.change('POST', `${pathOf(message)}/toggle_status`, { status });
      }
      // The call sets the whole list.
      const labels = [...new Set([...before.labels, ...tags])];
      if (labels.length > before.labels.length) {
        await api.change('POST', `${pathOf(message)}/labels`, { labels });
      }
    },

    async write(api, message) {
      const answer = await api.write('POST', `${pathOf(message)}/messages`, {
        content: message.text,
        message_type: 'outgoing',
        private: isPrivate(message),
        content_attributes: { [REFERENCE]: message.reference },
        ...(botId === undefined ? {} : { sender_type: 'AgentBot', sender_id: botId }),
      });
      return String(parsed(writtenSchema, answer, 'unknown').id);
    },
  };
  return deskTarget(place, desk);
}

/** Newest first. @throws DeskCallError when there are too many to look through */
async function messagesOf(
  api: DeskApi,
  path: string,
  message: OutgoingMessage,
  reach: 'newest' | 'all',
): Promise<Message[]> {
  const messages: Message[] = [];
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const before = messages.at(-1);
    const query = before === undefined ? '' : `?before=${before.id}`;
    const { payload } = parsed(messagesSchema, await api.read(`${path}${query}`));
    messages.push(...payload.toSorted((a, b) => b.id - a.id));
    const found = payload.some((one) => referenceOf(one) === message.reference);
    if (found || reach === 'newest' || payload.length < MESSAGE_PAGE) return messages;
  }
  throw new DeskCallError({ kind: 'not_sent', reason: 'too_many_messages' });
}

function referenceOf({ content_attributes: attributes }: Message): unknown {
  return attributes?.[REFERENCE];
}
