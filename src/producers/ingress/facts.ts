import { z } from 'zod';
import type { Body } from './text/index.ts';

/** Who wrote something. `machine`: a bot, an app, a rule. Ids and addresses are the system's, not the text's. */
export type Author = {
  kind: 'customer' | 'agent' | 'machine';
  id?: string | undefined;
  email?: string | undefined;
  /** The system itself proves who it is: signed in there, or the mail passed its domain's check. */
  proven?: boolean | undefined;
};

/** What a payload does not say and a re-read has to. */
export const MISSING = ['messageId', 'text', 'author'] as const;
export type Missing = (typeof MISSING)[number];

export type MessageFact = {
  fact: 'message';
  conversationId: string;
  messageId: string;
  deliveryId?: string | undefined;
  author: Author;
  body: Body;
  subject?: string | undefined;
  channel?: string | undefined;
  /** Seen by staff only. */
  internal?: boolean | undefined;
  /** Sent by a machine in the name of its author. */
  automatic?: boolean | undefined;
  missing?: readonly Missing[] | undefined;
};

/** What happened to a conversation as a whole. `with_people`: it is staff's now, although nobody wrote. */
export const CHANGES = ['closed', 'reopened', 'merged', 'deleted', 'with_people'] as const;
export type Change = {
  change: (typeof CHANGES)[number];
  conversationId: string;
  /** Of a merge: where the conversation went on, if the system says so. */
  into?: string | undefined;
};

/** Why something is not a message for us. Closed: it is a metric label. */
export const IGNORED = [
  ...['own_reply', 'private_note', 'machine', 'auto_reply', 'edited', 'no_message', 'ping'],
] as const;
export type IgnoredWhy = (typeof IGNORED)[number];

/** One thing a payload says. Adapters state facts; what follows from them is decided in one place, `sort`. */
export type Fact =
  | MessageFact
  | ({ fact: 'change' } & Change)
  | { fact: 'nothing'; why: IgnoredWhy; conversationId?: string | undefined }
  | { fact: 'challenge'; answer: string };

export function nothing(why: IgnoredWhy, conversationId?: string): Fact {
  return { fact: 'nothing', why, conversationId };
}

/** An id: some systems send numbers, some text, some both. */
export const id = z.union([z.string().min(1), z.number()]).transform(String);

/** A field that may be missing or null. */
export function maybe<Schema extends z.ZodType>(schema: Schema) {
  return schema.nullish().transform((value): z.output<Schema> | undefined => value ?? undefined);
}

export const text = maybe(z.string());
export const anything = maybe(z.unknown());
