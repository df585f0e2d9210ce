import { z } from 'zod';

/** How sure the adapter is that the requester is who they say they are. */
export const ASSURANCES = ['none', 'claimed', 'verified'] as const;
export type Assurance = (typeof ASSURANCES)[number];

/** The person a turn acts for. Set by the adapter from the channel, never from the text. */
export const requesterSchema = z.object({
  id: z.string().min(1).max(320),
  assurance: z.enum(ASSURANCES),
});
export type Requester = z.infer<typeof requesterSchema>;

const identifier = z.string().min(1).max(512);

/** Longest message text kept, in UTF-16 units. */
export const MAX_TEXT_LENGTH = 100_000;

/** Longer text is cut, and says so: a message is never refused for its length. */
function cut(text: string): string {
  if (text.length <= MAX_TEXT_LENGTH) return text;
  return `${text.slice(0, MAX_TEXT_LENGTH)}\n[cut: ${MAX_TEXT_LENGTH} of ${text.length} characters kept]`;
}

/** Longest text kept beside a message for people, in UTF-16 units. */
const MAX_ASIDE_LENGTH = 16_000;
const kept = z.string().transform((text) => text.slice(0, MAX_ASIDE_LENGTH));

/** What a message came with beside its text. Kept for people; the model sees none of the texts. */
const aside = {
  /** Mail it quotes, split off the text. */
  quoted: kept.optional(),
  signature: kept.optional(),
  /** Its body as it was sent, where `text` is not the same. */
  original: kept.optional(),
  /** ISO 639-1. */
  language: z.string().max(8).optional(),
  attachments: z
    .array(
      z.object({
        name: z.string().max(120),
        type: z.string().max(80).optional(),
        bytes: z.number().int().nonnegative().optional(),
      }),
    )
    .max(20)
    .optional(),
  /** What the source did not hand over; it is read again before the message is answered. */
  missing: z
    .array(z.enum(['messageId', 'text', 'author']))
    .max(3)
    .optional(),
};

/** One inbound message as the producers hand it in. `text` is untrusted data wherever it goes. */
export const ticketMessageSchema = z.object({
  /** Which system sent it; the unit of separation between keys and limits. */
  source: z.string().regex(/^[a-z0-9][a-z0-9_-]{0,31}$/, {
    error: 'must be 1-32 characters of a-z, 0-9, "-" and "_", for example "zendesk"',
  }),
  /** The thread, in the words of the source. */
  conversationId: identifier,
  /** The message, in the words of the source. Unique within the conversation. */
  messageId: identifier,
  /**
   * One hand-over of the source: what comes under a known one is known. A retry may carry the same one or another;
   * the messages of a payload that holds several need one each.
   */
  deliveryId: identifier.optional(),
  text: z.string().transform(cut),
  requester: requesterSchema,
  subject: z.string().max(1_000).optional(),
  channel: z.string().max(64).optional(),
  ...aside,
});
export type TicketMessage = z.infer<typeof ticketMessageSchema>;

/** A message in a mailbox: accepted, not yet answered. */
export const acceptedMessageSchema = z.object({
  /** Hash of source, conversation and message id: names the message everywhere behind the intake. */
  id: z.string(),
  messageId: z.string(),
  text: z.string(),
  requester: requesterSchema,
  subject: z.string().optional(),
  channel: z.string().optional(),
  ...aside,
  /** Milliseconds since the epoch, Redis time. */
  acceptedAt: z.number().int(),
});
export type AcceptedMessage = z.infer<typeof acceptedMessageSchema>;
