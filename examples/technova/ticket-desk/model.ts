import { z } from 'zod';

export const Owner = z.enum(['agent', 'human']);
export const ConversationStatus = z.enum(['open', 'closed', 'merged']);

/** A conversation as an admin gives it; what is left out keeps its value, or the default of a new one. */
export const ConversationSeed = z.strictObject({
  id: z.string().min(1),
  owner: Owner.optional(),
  status: ConversationStatus.optional(),
  /** The conversation a merged one went into. */
  mergedInto: z.string().nullable().optional(),
});
export type ConversationSeed = z.infer<typeof ConversationSeed>;

export const Conversation = z.object({
  id: z.string(),
  owner: Owner,
  status: ConversationStatus,
  mergedInto: z.string().nullable(),
});
export type Conversation = z.infer<typeof Conversation>;

export type MessageKind = 'reply' | 'note' | 'status';

/** One thing that was written into a conversation. `text` of a status message is the new status. */
export interface Message {
  id: string;
  kind: MessageKind;
  author: 'agent' | 'human';
  text: string;
  /** A free field of the writer, stored and returned as it came. The desk never compares it with anything. */
  reference: string | null;
  at: string;
}

export const MessageRequest = z.strictObject({
  text: z.string().min(1),
  reference: z.string().nullable().default(null),
});
export type MessageRequest = z.infer<typeof MessageRequest>;

export const StatusRequest = z.strictObject({
  status: z.enum(['open', 'closed']),
  reference: z.string().nullable().default(null),
});

export const DeskSettings = z.strictObject({
  /** `create`: writing to an unknown conversation opens it, reading it shows an empty one. `refuse`: 404. */
  unknownConversation: z.enum(['create', 'refuse']),
  /** `accept`: a reply to a closed conversation is stored and leaves it closed. `refuse`: 409. */
  closedConversation: z.enum(['accept', 'refuse']),
});
export type DeskSettings = z.infer<typeof DeskSettings>;
