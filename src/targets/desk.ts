import type { z } from 'zod';
import type { DeliveryKind, DeliveryTarget, OutgoingMessage } from '../contracts/index.ts';
import { DeskApi, DeskCallError, type DeskPlace } from './desk-api.ts';

/** What a re-read of a ticket says about a message that is to go there. */
export type Ticket = {
  /** `resolved` still takes private notes, `closed` and `merged` take nothing. */
  life: 'open' | 'resolved' | 'closed' | 'merged';
  /** A person has it: by assignment, or by having had the last public word. */
  human: boolean;
  /** The system's id of our message, if it is there already. */
  ours: string | undefined;
};

/**
 * One ticketing system. None of them has an idempotency key for messages, so each keeps our reference on the message
 * itself, where `read` finds it again.
 */
export type Desk<T extends Ticket> = {
  /** `newest` reads one page of messages, `all` every one. */
  read(api: DeskApi, message: OutgoingMessage, reach: 'newest' | 'all'): Promise<T>;
  /** Status and tags, where they are calls of their own. They come first: they may be repeated, the message may not. */
  mark?(api: DeskApi, message: OutgoingMessage, ticket: T): Promise<void>;
  /** Posts the message and answers its id. */
  write(api: DeskApi, message: OutgoingMessage, ticket: T): Promise<string>;
};

/** What each kind of message does to its ticket besides. */
export type Marks<Status extends string> = Partial<
  Record<DeliveryKind, { status?: Status; tags?: readonly string[] }>
>;

/** The tag by which people find what was handed over to them. */
export const HANDOVER_TAG = 'turnkeeper_handover';

/** A message for the people behind the desk; all others are for the customer. */
export function isPrivate(message: OutgoingMessage): boolean {
  return message.kind === 'note';
}

/** How long a re-read may take. Milliseconds. */
const FIND_MS = 5_000;
/** How the four systems number their tickets. Anything else would be another path. */
const TICKET_NUMBER = /^\d{1,20}$/;

export function deskTarget<T extends Ticket>(place: DeskPlace, desk: Desk<T>): DeliveryTarget {
  return {
    async send(message, deadline) {
      if (!TICKET_NUMBER.test(message.externalId)) return { kind: 'refused', reason: 'no_ticket' };
      const api = new DeskApi(place, deadline);
      try {
        const ticket = await desk.read(api, message, 'newest');
        if (ticket.ours !== undefined) return { kind: 'sent', targetId: ticket.ours };
        const reason = objectionTo(message, ticket);
        if (reason !== undefined) return { kind: 'refused', reason };
        await desk.mark?.(api, message, ticket);
        return { kind: 'sent', targetId: await desk.write(api, message, ticket) };
      } catch (error) {
        // Anything else is a defect of ours; a re-read tells what it did.
        return error instanceof DeskCallError
          ? error.failure
          : { kind: 'unknown', reason: 'internal' };
      }
    },

    async find(message) {
      if (!TICKET_NUMBER.test(message.externalId)) return { kind: 'absent' };
      try {
        const api = new DeskApi(place, Date.now() + FIND_MS);
        const { ours } = await desk.read(api, message, 'all');
        return ours === undefined ? { kind: 'absent' } : { kind: 'found', targetId: ours };
      } catch (error) {
        const gone = error instanceof DeskCallError && error.failure.reason === 'ticket_deleted';
        return { kind: gone ? 'absent' : 'unreadable' };
      }
    },
  };
}

/** Why this message must not go to this ticket any more. */
function objectionTo(message: OutgoingMessage, ticket: Ticket): string | undefined {
  if (ticket.life === 'merged') return 'ticket_merged';
  if (ticket.life === 'closed') return 'ticket_closed';
  if (isPrivate(message)) return undefined;
  if (ticket.life === 'resolved') return 'ticket_closed';
  return ticket.human ? 'human_owner' : undefined;
}

/** @throws DeskCallError when an answer is not of the documented shape */
export function parsed<S extends z.ZodType>(
  schema: S,
  answer: unknown,
  meaning: 'not_sent' | 'unknown' = 'not_sent',
): z.infer<S> {
  const result = schema.safeParse(answer);
  if (result.success) return result.data;
  throw new DeskCallError({ kind: meaning, reason: 'unreadable_answer' });
}

/** A text as HTML: nothing in it is markup. */
export function asHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll(/\r?\n/g, '<br>');
}
