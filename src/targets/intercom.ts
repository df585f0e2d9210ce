import { z } from 'zod';
import type { DeliveryTarget, OutgoingMessage } from '../contracts/index.ts';
import { sha256 } from '../loop/index.ts';
import { DeskCallError } from './desk-api.ts';
import {
  asHtml,
  deskTarget,
  isPrivate,
  parsed,
  type Desk,
  type Marks,
  type Ticket,
} from './desk.ts';
import { endpointOf } from './endpoint.ts';

export type IntercomOptions = {
  /** Default https://api.intercom.io; other regions have their own. */
  url?: string;
  /** The teammate that posts: its parts are ours, and what is assigned to it is ours. */
  adminId: string;
  accessToken: string;
  /** Tags by their id in Intercom. Default: a hand-over opens a snoozed conversation. */
  marks?: Marks<'open'>;
  /** Allows plain http. Default false. */
  development?: boolean;
};

type IntercomTicket = Ticket & { state: string };

const API_VERSION = '2.14';
const DEFAULT_MARKS: NonNullable<IntercomOptions['marks']> = { handover: { status: 'open' } };

const partSchema = z.object({
  id: z.string(),
  part_type: z.string(),
  body: z.string().nullish(),
  author: z.object({ type: z.string(), id: z.union([z.string(), z.number()]).nullish() }).nullish(),
});
const conversationSchema = z.object({
  state: z.string(),
  admin_assignee_id: z.union([z.string(), z.number()]).nullish(),
  conversation_parts: z.object({ conversation_parts: z.array(partSchema) }),
});

type Part = z.infer<typeof partSchema>;

/** The way back to Intercom. @throws InvalidInputError when the URL cannot be used */
export function intercomTarget(options: IntercomOptions): DeliveryTarget {
  const { adminId, accessToken, marks = DEFAULT_MARKS } = options;
  const place = {
    url: endpointOf('url', options.url ?? 'https://api.intercom.io', options.development ?? false),
    headers: { authorization: `Bearer ${accessToken}`, 'intercom-version': API_VERSION },
  };

  const desk: Desk<IntercomTicket> = {
    /** One answer holds the newest 500 parts: more than can follow on ours before it is looked for. */
    async read(api, message) {
      const path = `${pathOf(message)}?display_as=plaintext`;
      const conversation = parsed(conversationSchema, await api.read(path));
      const parts = conversation.conversation_parts.conversation_parts;
      const spoken = parts.findLast((part) => isPublic(part));
      const assignee = String(conversation.admin_assignee_id ?? 0);
      return {
        life: conversation.state === 'closed' ? 'resolved' : 'open',
        human:
          !['0', adminId].includes(assignee) ||
          (spoken?.author?.type === 'admin' && String(spoken.author.id) !== adminId),
        ours: parts.find((part) => isOurs(part, message))?.id,
        state: conversation.state,
      };
    },

    async mark(api, message, { state }) {
      const { status, tags = [] } = marks[message.kind] ?? {};
      if (status !== undefined && status !== state) {
        const opening = { message_type: status, type: 'admin', admin_id: adminId };
        await api.change('POST', `${pathOf(message)}/parts`, opening);
      }
      for (const id of tags) {
        await api.change('POST', `${pathOf(message)}/tags`, { id, admin_id: adminId });
      }
    },

    async write(api, message) {
      const answer = await api.write('POST', `${pathOf(message)}/reply`, {
        message_type: isPrivate(message) ? 'note' : 'comment',
        type: 'admin',
        admin_id: adminId,
        body: `${asHtml(message.text)}<br><br>${markOf(message)}`,
      });
      const { conversation_parts: list } = parsed(conversationSchema, answer, 'unknown');
      const ours = list.conversation_parts.find((part) => isOurs(part, message));
      if (ours === undefined) {
        throw new DeskCallError({ kind: 'unknown', reason: 'unreadable_answer' });
      }
      return ours.id;
    },
  };
  return deskTarget(place, desk);
}

function pathOf({ externalId }: OutgoingMessage): string {
  return `/conversations/${externalId}`;
}

/**
 * A part has no field of ours, and its text is rewritten on the way, so our reference is a line of it that people see
 * and no rewriting loses.
 */
function markOf({ reference }: OutgoingMessage): string {
  return `Ref. ${sha256(reference).slice(0, 12)}`;
}

/** Only from our own hand: a customer who quotes a reply quotes its mark. */
function isOurs({ author, body }: Part, message: OutgoingMessage): boolean {
  const customers = ['user', 'lead', 'contact'];
  return !customers.includes(author?.type ?? '') && (body ?? '').includes(markOf(message));
}

/** Words that the customer sees: comments, and what was said along with an assignment or a change of state. */
function isPublic({ part_type: type, body }: Part): boolean {
  return type !== 'note' && (body ?? '') !== '';
}
