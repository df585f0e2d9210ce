import { createHash } from 'node:crypto';
import type { MessageFact } from '../facts.ts';
import { isAutomatic, isOneOf, type MailHeader } from '../machine-mail.ts';
import { bodyKey, type WebhookRequest } from '../request.ts';
import type { SourceSettings } from '../sort.ts';
import type { Body } from '../text/index.ts';

/** A mail, whoever received it for us. */
export type Mail = {
  /** Keys in lower case. */
  headers: readonly MailHeader[];
  from?: string | undefined;
  /** Every address it was sent to. */
  to: readonly string[];
  subject?: string | undefined;
  body: Body;
  deliveryId?: string | undefined;
  /** Where bounces go; empty in a bounce. */
  envelopeFrom?: string | undefined;
  /** Whoever received it has checked that the domain of `from` sent it. */
  proven?: boolean | undefined;
};

export function mailFact(mail: Mail, request: WebhookRequest, source: SourceSettings): MessageFact {
  const messageId = headerOf(mail, 'message-id')?.toLowerCase() ?? bodyKey(request);
  return {
    fact: 'message',
    conversationId: conversationOf(mail, messageId, source),
    messageId,
    deliveryId: mail.deliveryId,
    author: { kind: 'customer', email: mail.from, proven: mail.proven },
    body: { ...mail.body, mail: true },
    subject: mail.subject,
    channel: 'email',
    automatic: isAutomatic(mail.headers, mail.envelopeFrom),
  };
}

/**
 * The conversation a mail belongs to: the tag of the mailbox it was sent to, one of our own mails it answers, the tag in
 * the subject, else the mail the thread began with. Never the subject alone: everybody writes "My order".
 */
function conversationOf(mail: Mail, messageId: string, { ownAddresses }: SourceSettings): string {
  const references = ids(
    `${headerOf(mail, 'references') ?? ''} ${headerOf(mail, 'in-reply-to') ?? ''}`,
  );
  return (
    firstOf(mail.to, (address) => mailboxTag(address, ownAddresses)) ??
    firstOf(references.toReversed(), (id) => ownTag(id, ownAddresses)) ??
    /\[ref:([\w-]{1,64})\]/.exec(mail.subject ?? '')?.[1]?.toLowerCase() ??
    threadTag(references[0] ?? messageId)
  );
}

/** `t81` of `support+t81@example.com`. */
function mailboxTag(address: string, ownAddresses: readonly string[]): string | undefined {
  return isOneOf(address, ownAddresses)
    ? /\+([\w-]{1,64})@/.exec(address)?.[1]?.toLowerCase()
    : undefined;
}

/** Our mails name their conversation in front of the first dot: `<t81.20260303@example.com>`. */
function ownTag(id: string, ownAddresses: readonly string[]): string | undefined {
  const [, tag, domain] = /^<([\w-]{1,64})\.[^<>@]+@([^<>@]+)>$/.exec(id) ?? [];
  const ours = ownAddresses.some((address) => address.toLowerCase().split('@')[1] === domain);
  return ours ? tag : undefined;
}

/** As guessable as the id of somebody else's mail, and fit to be the tag of a mailbox. */
function threadTag(id: string): string {
  return `m${createHash('sha256').update(id).digest('hex').slice(0, 24)}`;
}

function ids(text: string): string[] {
  return text.toLowerCase().match(/<[^<>\s]{1,512}>/g) ?? [];
}

export function headerOf({ headers }: Pick<Mail, 'headers'>, key: string): string | undefined {
  return headers.find((one) => one.key === key)?.value.trim();
}

function firstOf<T>(values: readonly T[], pick: (value: T) => string | undefined) {
  for (const value of values) {
    const picked = pick(value);
    if (picked !== undefined) return picked;
  }
  return undefined;
}
