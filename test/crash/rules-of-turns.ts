import type { LogEntry } from '../../examples/technova/service/event-log.ts';
import { digest } from '../../src/loop/index.ts';
import type { TurnRecord } from '../../src/store/records.ts';
import type { Evidence } from './evidence.ts';
import type { Add } from './judge.ts';
import type { PlannedMessage } from './load.ts';

// What must hold for messages, turns and texts.

/** Every message that was accepted is in exactly one ended turn, and no turn answers anything else. */
export function oneOutcome(evidence: Evidence, add: Add): void {
  const { planned, accepted, turns, turnsStored, unreadable } = evidence;
  const count = planned.flat().length;
  if (accepted.length !== count) add(`${accepted.length} of ${count} messages were accepted`);
  const answeredBy = new Map<string, TurnRecord[]>();
  for (const turn of turns) {
    if (turn.outcome === null) add(`turn ${turn.turnId} of ${turn.conversationId} has no outcome`);
    for (const { id } of turn.messages) {
      answeredBy.set(id, [...(answeredBy.get(id) ?? []), turn]);
    }
  }
  for (const { id, planned: message } of accepted) {
    const by = answeredBy.get(id)?.length ?? 0;
    if (by !== 1) add(`${nameOf(message)} is in ${by} turns`);
  }
  for (const problem of unreadable) add(problem);
  if (turnsStored !== turns.length + unreadable.length) {
    add(`${turnsStored} turns are stored and ${turns.length} are listed`);
  }
}

/** All faults of a run can be survived: no turn may give up. */
export function everyTurnCompleted({ turns }: Evidence, add: Add): void {
  for (const turn of turns) {
    if (turn.outcome === 'completed' && turn.reason === 'replied') continue;
    const { proposal } = turn.state.rounds.at(-1) ?? {};
    const why = proposal?.kind === 'escalate' ? `: ${proposal.rationale}` : '';
    add(`turn ${turn.turnId} of ${turn.conversationId} ended ${turn.outcome}/${turn.reason}${why}`);
  }
}

/** The turns of a conversation answer its messages in the order in which these were accepted. */
export function orderKept(evidence: Evidence, add: Add): void {
  for (const [conversationId, turns] of byConversation(evidence.turns)) {
    const answered = turns.flatMap(({ messages }) => messages.map(({ messageId }) => messageId));
    const wanted = plannedOf(evidence, conversationId).map(({ ticket }) => ticket.messageId);
    if (answered.join() !== wanted.join()) add(`${conversationId} answered ${answered.join(', ')}`);
  }
  const replies = repliesOf(evidence);
  for (const messages of evidence.planned) {
    const conversation = messages[0]?.ticket.conversationId ?? '';
    const said = replies
      .filter((reply) => reply['conversationId'] === conversation)
      .map((reply) => String(reply['text']));
    const wanted = messages.map(({ reply }) => reply);
    if (said.join('\n') !== wanted.join('\n')) {
      add(`the customer of ${conversation} read: ${said.join(' ') || 'nothing'}`);
    }
  }
}

/** A turn starts after the one before it ended, by the store's clock and by the turns' own events. */
export function noOverlap({ turns }: Evidence, add: Add): void {
  for (const [conversationId, inOrder] of byConversation(turns)) {
    for (const [index, turn] of inOrder.entries()) {
      const before = inOrder[index - 1];
      if (before === undefined) continue;
      const started = turn.events[0]?.at ?? 0;
      const ended = before.events.at(-1)?.at ?? Infinity;
      if (turn.startedAt < (before.endedAt ?? Infinity) || started < ended) {
        add(`${conversationId}: turn ${turn.turnId} began before ${before.turnId} had ended`);
      }
    }
  }
}

/** The desk has each turn's reply once; of the fixed texts at most one; and nothing nobody asked it to write. */
export function oneReply({ turns, deskLog }: Evidence, add: Add): void {
  const texts = deskLog.filter(({ kind }) => kind === 'effect');
  const count = new Map<unknown, number>();
  for (const { reference } of texts as { reference?: unknown }[]) {
    count.set(reference, (count.get(reference) ?? 0) + 1);
  }
  const known = new Set<unknown>();
  for (const { turnId, conversationId, outcome } of turns) {
    const reply = digest('delivery', turnId, 'reply');
    const others = ['holding', 'handover', 'note'].map((kind) => digest('delivery', turnId, kind));
    const wanted = outcome === 'completed' ? 1 : 0;
    const replies = count.get(reply) ?? 0;
    if (replies !== wanted) add(`turn ${turnId} of ${conversationId} has ${replies} replies`);
    for (const id of [reply, ...others]) known.add(id);
  }
  for (const [reference, times] of count) {
    if (times > 1) add(`the desk was sent ${String(reference)} ${times} times`);
    if (!known.has(reference)) add(`the desk was sent ${String(reference)}, which no turn wrote`);
  }
}

// --- parts ------------------------------------------------------------------------------------------------------------

function byConversation(turns: readonly TurnRecord[]): Map<string, TurnRecord[]> {
  const inOrder = turns.toSorted(
    (a, b) => a.startedAt - b.startedAt || (a.endedAt ?? Infinity) - (b.endedAt ?? Infinity),
  );
  return Map.groupBy(inOrder, ({ conversationId }) => conversationId);
}

function plannedOf({ planned }: Evidence, conversationId: string): readonly PlannedMessage[] {
  return planned.find(([first]) => first?.conversationId === conversationId) ?? [];
}

/** In the order in which the desk got them. */
function repliesOf({ turns, deskLog }: Evidence): LogEntry[] {
  const references = new Set(turns.map(({ turnId }) => digest('delivery', turnId, 'reply')));
  return deskLog.filter(
    ({ kind, reference }) => kind === 'effect' && references.has(String(reference)),
  );
}

function nameOf({ conversationId, ticket }: PlannedMessage): string {
  return `${conversationId} ${ticket.messageId}`;
}
