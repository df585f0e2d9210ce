import type { LogEntry } from '../../examples/technova/service/event-log.ts';
import { digest } from '../../src/loop/index.ts';
import type { TurnRecord } from '../../src/store/records.ts';
import { reasonOf, type Evidence } from './evidence.ts';
import type { PlannedMessage } from './load.ts';

/** A broken promise: which rule, and what shows it. */
export type Finding = { rule: string; what: string };

type Add = (what: string) => void;
type Rule = (evidence: Evidence, add: Add) => void;

/** What must hold whatever happened on the way. Judged from the services' own logs and the store. */
export const RULES: Record<string, Rule> = {
  'one outcome per message': oneOutcome,
  'every turn completed': everyTurnCompleted,
  'order kept': orderKept,
  'no overlap': noOverlap,
  'one reply per turn': oneReply,
  'every effect once': everyEffectOnce,
  'one key per business effect': oneKeyPerEffect,
  'nothing done outside of its turn': nothingOutside,
  'nothing counts before it is true': nothingBeforeItsTime,
  'ledger verified': ledgerVerified,
  'one decision per approval': oneDecision,
  'one writer per turn': oneWriter,
  'no turn gets stuck': noTurnStuck,
  'no worker ends by itself': noWorkerEnds,
};

export function judge(evidence: Evidence): Finding[] {
  return Object.entries(RULES).flatMap(([rule, check]) => {
    const found: Finding[] = [];
    check(evidence, (what) => found.push({ rule, what }));
    return found;
  });
}

/** Every message that was accepted is in exactly one ended turn, and no turn answers anything else. */
function oneOutcome({ planned, accepted, turns, turnsStored }: Evidence, add: Add): void {
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
  if (turnsStored !== turns.length) {
    add(`${turnsStored} turns are stored and ${turns.length} are listed`);
  }
}

/** All faults of a run can be survived: no turn may give up. */
function everyTurnCompleted({ turns }: Evidence, add: Add): void {
  for (const turn of turns) {
    if (turn.outcome === 'completed' && turn.reason === 'replied') continue;
    const { proposal } = turn.state.rounds.at(-1) ?? {};
    const why = proposal?.kind === 'escalate' ? `: ${proposal.rationale}` : '';
    add(`turn ${turn.turnId} of ${turn.conversationId} ended ${turn.outcome}/${turn.reason}${why}`);
  }
}

/** The turns of a conversation answer its messages in the order in which these were accepted. */
function orderKept(evidence: Evidence, add: Add): void {
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
function noOverlap({ turns }: Evidence, add: Add): void {
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
function oneReply({ turns, deskLog }: Evidence, add: Add): void {
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

/** The world holds what the customers asked for, each once. */
function everyEffectOnce({ planned, orderLog }: Evidence, add: Add): void {
  const wanted = planned.flat().flatMap(({ effects }) => effects.map(effectName));
  const done = orderLog
    .filter(({ kind }) => kind === 'effect')
    .map((entry) =>
      effectName({
        operation: String(entry['operation']),
        orderId: String(entry['orderId']),
        amount: Number(entry['amount'] ?? 0),
      }),
    );
  for (const [name, times] of counts(done)) {
    if (times > 1) add(`${name} was done ${times} times`);
    if (!wanted.includes(name)) add(`${name} was done, nobody had asked for it`);
  }
  const isDone = new Set(done);
  for (const name of wanted) if (!isDone.has(name)) add(`${name} was never done`);
}

/** Whatever was sent for one business effect carried the same key, and no key stood for two. */
function oneKeyPerEffect({ orderLog }: Evidence, add: Add): void {
  const keys = new Map<string, Set<string>>();
  const effects = new Map<string, number>();
  for (const entry of orderLog) {
    const operation = String(entry['operation']);
    if (operation !== 'cancel' && operation !== 'refund') continue;
    const sent = entry['idempotencyKey'];
    if (entry.kind === 'request') {
      const name = `${operation} of ${String(entry['orderId'])}`;
      keys.set(name, (keys.get(name) ?? new Set()).add(String(sent)));
    } else if (entry.kind === 'effect') {
      effects.set(String(sent), (effects.get(String(sent)) ?? 0) + 1);
    }
  }
  for (const [name, used] of keys) {
    if (used.size !== 1 || used.has('null'))
      add(`${name} was sent with keys ${[...used].join(', ')}`);
  }
  for (const [sent, times] of effects)
    if (times > 1) add(`key ${sent} stands for ${times} effects`);
}

/** An effect happens while the turn that wants it is open. */
function nothingOutside(evidence: Evidence, add: Add): void {
  for (const { entry, turn, name } of effectsWithTurns(evidence)) {
    if (turn === undefined) continue;
    const at = Date.parse(entry.at);
    if (at < turn.startedAt || at > (turn.endedAt ?? Infinity)) {
      add(`${name} was done at ${entry.at}, outside of turn ${turn.turnId}`);
    }
  }
}

/** A turn that says an order is cancelled ends after it was; a gated refund is sent after a person agreed to it. */
function nothingBeforeItsTime(evidence: Evidence, add: Add): void {
  const settledAt = new Map(
    evidence.orderLog
      .filter(({ kind, operation }) => kind === 'settlement' && operation === 'cancel')
      .map((entry) => [entry['orderId'], Date.parse(entry.at)]),
  );
  for (const { entry, turn, name, message } of effectsWithTurns(evidence)) {
    if (turn === undefined) continue;
    if (entry['operation'] === 'cancel') {
      const settled = settledAt.get(entry['orderId']) ?? Infinity;
      if (settled > (turn.endedAt ?? 0)) add(`turn ${turn.turnId} ended before ${name} was true`);
    } else if (message.wish === 'refund-big' || message.wish === 'cancel-and-refund') {
      const agreed = turn.events.find(
        (event) => event.type === 'approval_decided' && event.decision === 'approved',
      );
      if (agreed === undefined || agreed.at > Date.parse(entry.at)) {
        add(`${name} was done before anybody had agreed`);
      }
    }
  }
}

/** The ledger knows every effect, and each was proven by a re-read. */
function ledgerVerified({ ledger, planned, orderLog }: Evidence, add: Add): void {
  const wanted = planned.flat().flatMap(({ effects }) => effects).length;
  if (ledger.length !== wanted) add(`${ledger.length} rows for ${wanted} effects`);
  const operations = new Set(ledger.map(({ operation }) => operation));
  for (const { operation, status, tool, resource } of ledger) {
    if (status !== 'verified') add(`${tool} ${resource} (${operation}) is ${status}`);
  }
  for (const entry of orderLog) {
    const sent = String(entry['idempotencyKey']);
    if (entry.kind === 'effect' && !operations.has(sent)) add(`the ledger does not know ${sent}`);
  }
}

/** Whoever decided first is who everybody is told. */
function oneDecision({ approvals }: Evidence, add: Add): void {
  for (const [id, answers] of approvals) {
    const told = new Set(
      answers.map((one) => ('by' in one ? `${one.status} by ${one.by}` : one.kind)),
    );
    if (told.size > 1) add(`approval ${id} was ${[...told].join(' and ')}`);
    const firsts = answers.filter(({ kind }) => kind === 'decided').length;
    if (firsts > 1) add(`approval ${id} was decided ${firsts} times`);
  }
}

/** The record's own alarm: somebody wrote whose claim had been taken over. */
function oneWriter({ complaints }: Evidence, add: Add): void {
  for (const complaint of complaints) {
    const why = reasonOf(complaint);
    if (why?.includes('TK_SEQ')) add(why);
  }
}

/** A lost lock or connection may throw a worker off its turn; nothing else may. */
const LOSSES = /lock|Missing key|Connection is closed|not in the .* state/i;

function noTurnStuck({ complaints }: Evidence, add: Add): void {
  for (const complaint of complaints) {
    const why = reasonOf(complaint) ?? 'nobody knows why';
    if (complaint.msg === 'turn stuck' && !LOSSES.test(why)) add(why);
  }
}

function noWorkerEnds({ endedByThemselves }: Evidence, add: Add): void {
  for (const end of endedByThemselves) add(end);
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

function effectsWithTurns({ planned, turns, orderLog }: Evidence) {
  const messages = new Map(planned.flat().map((message) => [message.orderId, message]));
  const turnOf = new Map(
    turns.flatMap((turn) =>
      turn.messages.map(({ messageId }) => [`${turn.conversationId} ${messageId}`, turn] as const),
    ),
  );
  return orderLog.flatMap((entry) => {
    const message = messages.get(String(entry['orderId']));
    if (entry.kind !== 'effect' || message === undefined) return [];
    const turn = turnOf.get(`${message.conversationId} ${message.ticket.messageId}`);
    const name = `${String(entry['operation'])} of order ${message.orderId}`;
    return [{ entry, message, turn, name }];
  });
}

function effectName(effect: { operation: string; orderId: string; amount: number }): string {
  const { operation, orderId, amount } = effect;
  return operation === 'cancel' ? `cancel of ${orderId}` : `refund of ${amount} on ${orderId}`;
}

function counts(names: readonly string[]): Map<string, number> {
  const found = new Map<string, number>();
  for (const name of names) found.set(name, (found.get(name) ?? 0) + 1);
  return found;
}

function nameOf({ conversationId, ticket }: PlannedMessage): string {
  return `${conversationId} ${ticket.messageId}`;
}
