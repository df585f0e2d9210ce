import { z } from 'zod';

/**
 * What goes back to the ticket. `reply` is written by the model; `holding` and `handover` are fixed, configured texts;
 * `note` is private.
 */
export const DELIVERY_KINDS = ['reply', 'holding', 'handover', 'note'] as const;
export type DeliveryKind = (typeof DELIVERY_KINDS)[number];

export const DELIVERY_STATUSES = ['pending', 'sending', 'sent', 'unknown', 'dropped'] as const;
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number];

/** A text the ticketing system must get. Written in the same step that commits the turn. */
export const deliverySchema = z.object({
  /** Also the reference by which we find our own message on a re-read. */
  id: z.string(),
  kind: z.enum(DELIVERY_KINDS),
  text: z.string().min(1),
  turnId: z.string(),
});
export type Delivery = z.infer<typeof deliverySchema>;

export const deliveryRecordSchema = deliverySchema.extend({
  status: z.enum(DELIVERY_STATUSES),
  attempts: z.number().int().nonnegative(),
  createdAt: z.number().int(),
  settledAt: z.number().int().optional(),
  /** The target's own id of our message, when it told us. */
  targetId: z.string().optional(),
});
export type DeliveryRecord = z.infer<typeof deliveryRecordSchema>;

/** What is sent to a ticketing system. `reference` comes back on a re-read. */
export type OutgoingMessage = {
  source: string;
  externalId: string;
  kind: DeliveryKind;
  text: string;
  reference: string;
};

/**
 * How a send went. `not_sent`: certainly not there, trying again is safe. `refused`: never will be. `unknown`: the
 * answer was lost; only a re-read can tell.
 */
export type SendResult =
  | { kind: 'sent'; targetId: string }
  /** `retryAfterMs`: the target asked to be left alone for so long. */
  | { kind: 'not_sent'; reason: string; retryAfterMs?: number }
  | { kind: 'refused' | 'unknown'; reason: string };

/** Reasons of a refusal that are about the ticket: it is not ours to write in any more, and nobody has to look into it. */
export const NOT_OURS = [
  'human_owner',
  'ticket_closed',
  'ticket_merged',
  'ticket_deleted',
] as const;

/** The way back to the ticketing system. Neither function may throw. */
export interface DeliveryTarget {
  /** Must not start sending after `deadline` (milliseconds since the epoch) and must settle soon after it. */
  send(message: OutgoingMessage, deadline: number): Promise<SendResult>;
  /** Whether the target holds the message already: a re-read through its authoritative path. */
  find(
    message: OutgoingMessage,
  ): Promise<{ kind: 'found'; targetId: string } | { kind: 'absent' | 'unreadable' }>;
}
