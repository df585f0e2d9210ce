import { createHash } from 'node:crypto';
import { MAX_TEXT_LENGTH, type Requester, type TicketMessage } from '../../contracts/index.ts';
import type { Author, Change, Fact, MessageFact } from './facts.ts';
import { isMachineAddress, isOneOf } from './machine-mail.ts';
import { NOTHING, type Ignored, type Mapped, type Said } from './mapped.ts';
import { cleanLine, readBody } from './text/index.ts';

/** What an operator says about a source beyond its secrets. */
export type SourceSettings = {
  /** Of the source; goes into every message. */
  name: string;
  /** Author ids of the accounts our replies are posted with, in the words of the system. */
  ownAuthors: readonly string[];
  /** Mail addresses that are ours: the mailboxes customers write to. */
  ownAddresses: readonly string[];
  /** Channels on which the system lets only people write who signed in: who writes there is who they say. */
  signedInChannels: readonly string[];
};

/** What follows from the facts of a payload. The same rules for every system; pure. */
export function sort(facts: readonly Fact[], source: SourceSettings): Mapped {
  return facts.reduce((mapped, fact) => withFact(mapped, fact, source), NOTHING);
}

function withFact(mapped: Mapped, fact: Fact, source: SourceSettings): Mapped {
  switch (fact.fact) {
    case 'message':
      return withMessage(mapped, fact, source);
    case 'change':
      return { ...mapped, changes: [...mapped.changes, changeOf(fact)] };
    case 'nothing':
      return ignoring(mapped, {
        why: fact.why,
        ...(fact.conversationId === undefined ? {} : { conversationId: fact.conversationId }),
      });
    case 'challenge':
      return { ...mapped, challenge: fact.answer };
    default:
      return fact satisfies never;
  }
}

function withMessage(mapped: Mapped, fact: MessageFact, source: SourceSettings): Mapped {
  const conversationId = bounded(fact.conversationId, 512);
  const { author } = fact;
  if (fact.internal === true) return ignoring(mapped, { why: 'private_note', conversationId });
  if (isOurs(author, source)) {
    return ignoring(mapped, { why: 'own_reply', conversationId, said: saidIn(fact) });
  }
  if (author.kind === 'machine') return ignoring(mapped, { why: 'machine', conversationId });
  if (author.kind === 'agent') {
    return { ...mapped, takeovers: [...mapped.takeovers, saidIn(fact)] };
  }
  if (fact.automatic === true || isMachineAddress(author.email)) {
    return ignoring(mapped, { why: 'auto_reply', conversationId });
  }
  return { ...mapped, accept: [...mapped.accept, messageOf(fact, source)] };
}

function isOurs({ id, email }: Author, { ownAuthors, ownAddresses }: SourceSettings): boolean {
  return (id !== undefined && ownAuthors.includes(id)) || isOneOf(email, ownAddresses);
}

function messageOf(fact: MessageFact, source: SourceSettings): TicketMessage {
  const { deliveryId, subject, channel, missing } = fact;
  return {
    source: source.name,
    conversationId: bounded(fact.conversationId, 512),
    messageId: bounded(fact.messageId, 512),
    requester: requesterOf(fact, source),
    ...readBody(fact.body),
    ...(deliveryId === undefined ? {} : { deliveryId: bounded(deliveryId, 512) }),
    ...(subject === undefined || subject === '' ? {} : { subject: cleanLine(subject, 1_000) }),
    ...(channel === undefined || channel === '' ? {} : { channel: channel.slice(0, 64) }),
    ...(missing === undefined ? {} : { missing: [...missing] }),
  };
}

/**
 * The address where the channel gives one, else the id of the system. Nobody known is `none`; one the system vouches for
 * is `verified`; every other one only says so.
 */
function requesterOf({ author, channel }: MessageFact, source: SourceSettings): Requester {
  const id = author.email?.trim().toLowerCase() || author.id;
  if (id === undefined || id === '') return { id: 'unknown', assurance: 'none' };
  const signedIn = channel !== undefined && source.signedInChannels.includes(channel);
  const assurance = author.proven === true || signedIn ? 'verified' : 'claimed';
  return { id: bounded(id, 320), assurance };
}

function saidIn(fact: MessageFact): Said {
  return {
    conversationId: bounded(fact.conversationId, 512),
    messageId: bounded(fact.messageId, 512),
    by: bounded(fact.author.id ?? fact.author.email ?? 'unknown', 320),
    text: readBody(fact.body).text.slice(0, MAX_TEXT_LENGTH),
  };
}

function changeOf({ change, conversationId, into }: Change): Change {
  return {
    change,
    conversationId: bounded(conversationId, 512),
    ...(into === undefined ? {} : { into: bounded(into, 512) }),
  };
}

function ignoring(mapped: Mapped, ignored: Ignored): Mapped {
  return { ...mapped, ignored: [...mapped.ignored, ignored] };
}

/** Ids of any length, the same one always giving the same. */
export function bounded(id: string, length: number): string {
  if (id.length <= length) return id;
  return `long-${createHash('sha256').update(id).digest('hex')}`;
}
