import type { Logger } from 'pino';
import { setTimeout as pause } from 'node:timers/promises';
import { within } from '../calls/index.ts';
import type { Agent } from '../config/index.ts';
import type { AcceptedMessage, TicketMessage } from '../contracts/index.ts';
import type { ClaimedTurn } from '../loop/index.ts';
import { resolveMessage, type Resolved } from '../producers/ingress/index.ts';
import { Records, sourceOf, type Store } from '../store/index.ts';

type ResolveOptions = { store: Store; agent: Agent; logger: Logger };

/** How long one look at the source may take, and after which waits it is tried again. Milliseconds. */
const LOOK_MS = 10_000;
const WAITS_MS = [500, 2_000];

/**
 * Reads again what the source left out of a message before a turn begins. What turns out to be known already, or not to be
 * the customer's, needs no answer; what cannot be read is answered as it came.
 */
export async function resolved(turn: ClaimedTurn, options: ResolveOptions): Promise<ClaimedTurn> {
  if (turn.events.length > 0) return turn;
  const messages: AcceptedMessage[] = [];
  for (const [place, message] of turn.messages.entries()) {
    const answer = await one(turn, place, message, options);
    if (answer !== undefined) messages.push(answer);
  }
  if (messages.length > 0) return { ...turn, messages: inPlace(turn, messages) };
  return { ...turn, signal: { cause: 'no_reply_needed' } };
}

/** What is left to answer; the messages themselves all belong to the turn. */
function inPlace({ messages }: ClaimedTurn, answered: readonly AcceptedMessage[]) {
  const byId = new Map(answered.map((message) => [message.id, message]));
  return messages.map((message) => byId.get(message.id) ?? { ...message, text: '' });
}

async function one(
  { claim }: ClaimedTurn,
  place: number,
  message: AcceptedMessage,
  options: ResolveOptions,
): Promise<AcceptedMessage | undefined> {
  if (message.missing === undefined) return message;
  const { store, logger } = options;
  const { conversationId } = claim;
  const found = await look(conversationId, message, options);
  if (found === undefined || found.kind === 'not_found') {
    logger.warn({ conversationId, messageId: message.id }, 'message could not be read again');
    return message;
  }
  if (found.kind === 'someone_else') return undefined;
  const {
    source: _source,
    conversationId: _external,
    deliveryId: _delivery,
    ...read
  } = found.message;
  const { missing: _missing, ...known } = message;
  const whole = { ...known, ...read };
  const stored = await store.resolveMessage(claim, place, whole);
  return stored === 'duplicate' ? undefined : whole;
}

async function look(
  conversationId: string,
  message: AcceptedMessage,
  { agent, store }: ResolveOptions,
): Promise<Resolved | undefined> {
  const name = sourceOf(conversationId);
  const source = agent.sources.find((candidate) => candidate.name === name);
  const { api } = source ?? {};
  if (source?.adapter.reread === undefined || api === undefined) return undefined;
  const { id: _id, acceptedAt: _at, ...rest } = message;
  const asked: TicketMessage = {
    ...rest,
    source: name,
    conversationId: await new Records(store).externalId(conversationId),
  };
  for (const waitMs of [0, ...WAITS_MS]) {
    await pause(waitMs);
    const end = await within({ timeoutMs: LOOK_MS, silenceMs: LOOK_MS }, () =>
      resolveMessage(source, asked, api),
    );
    if (end.kind === 'answered') return end.value;
  }
  return undefined;
}
