import type { Evidence } from './evidence.ts';
import type { Add } from './judge.ts';

// What must hold for effects on the world, for the ledger and for approvals.

/** The world holds what the customers asked for, each once. */
export function everyEffectOnce({ planned, orderLog }: Evidence, add: Add): void {
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
export function oneKeyPerEffect({ orderLog }: Evidence, add: Add): void {
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
export function nothingOutside(evidence: Evidence, add: Add): void {
  for (const { entry, turn, name } of effectsWithTurns(evidence)) {
    if (turn === undefined) continue;
    const at = Date.parse(entry.at);
    if (at < turn.startedAt || at > (turn.endedAt ?? Infinity)) {
      add(`${name} was done at ${entry.at}, outside of turn ${turn.turnId}`);
    }
  }
}

/** A turn that says an order is cancelled ends after it was; a gated refund is sent after a person agreed to it. */
export function nothingBeforeItsTime(evidence: Evidence, add: Add): void {
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
export function ledgerVerified({ ledger, planned, orderLog }: Evidence, add: Add): void {
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
export function oneDecision({ approvals }: Evidence, add: Add): void {
  for (const [id, answers] of approvals) {
    const told = new Set(
      answers.map((one) => ('by' in one ? `${one.status} by ${one.by}` : one.kind)),
    );
    if (told.size > 1) add(`approval ${id} was ${[...told].join(' and ')}`);
    const firsts = answers.filter(({ kind }) => kind === 'decided').length;
    if (firsts > 1) add(`approval ${id} was decided ${firsts} times`);
  }
}

// --- parts ------------------------------------------------------------------------------------------------------------

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
