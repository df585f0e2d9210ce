import type { TicketMessage } from '../../contracts/index.ts';
import type { Change, IgnoredWhy } from './facts.ts';

/** A public message that is not the customer's. */
export type Said = { conversationId: string; messageId: string; by: string; text: string };

/** Taken note of and left alone. For `own_reply` it says what came back. */
export type Ignored = { why: IgnoredWhy; conversationId?: string; said?: Said };

/** What one delivery means, in the order to act on it: changes and takeovers, then what to accept. */
export type Mapped = {
  changes: readonly Change[];
  /** A person of the staff has answered in public. */
  takeovers: readonly Said[];
  accept: readonly TicketMessage[];
  ignored: readonly Ignored[];
  /** To be sent back as the body of the answer, as plain text. */
  challenge?: string;
};

export const NOTHING: Mapped = { changes: [], takeovers: [], accept: [], ignored: [] };
