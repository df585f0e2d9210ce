import { fold } from '../src/loop/index.ts';
import { TurnTrace } from '../src/telemetry/index.ts';
import type { Played } from './host.ts';
import { shapeOf } from './shape.ts';

/** What came of a case: everything it is judged by, and comparable between runs. */
export type Findings = {
  turns: string[];
  /** What the customer was sent. */
  texts: string[];
  entries: string[];
  ledger: string[];
  deliveries: string[];
  effects: string[];
  trace: string[];
  rounds: number;
  toolCalls: number;
  tokens: number;
};

export function findingsOf({ store, traces, effects }: Played): Findings {
  const states = store.turns.map(({ events }) => fold(events));
  const sum = (numbers: readonly number[]): number => numbers.reduce((all, one) => all + one, 0);
  return {
    turns: store.turns.map(({ ending, park }) =>
      ending === undefined
        ? `waits for ${park?.kind ?? 'nothing'}`
        : `${ending.outcome}/${ending.reason}`,
    ),
    texts: store.deliveries.flatMap(({ kind, text }) => (kind === 'note' ? [] : [text])),
    entries: store.history.map(({ kind }) => kind),
    ledger: store.ledger
      .rows()
      .map(({ tool, resource, status }) => `${tool} ${resource} ${status}`),
    deliveries: store.deliveries.map(({ kind }) => kind),
    effects: effects.map(inWords),
    trace: store.turns.flatMap(({ turnId, events }) =>
      shapeOf(traces.get(turnId) ?? new TurnTrace(), events),
    ),
    rounds: sum(states.map(({ rounds }) => rounds.length)),
    toolCalls: sum(states.map(({ spent }) => spent.toolCalls)),
    tokens: sum(states.map(({ spent }) => spent.tokens)),
  };
}

/** A line of the shop's log: `cancel 4482`, `refund 4482 74000 (cancelled)`. */
function inWords(entry: Readonly<Record<string, unknown>>): string {
  const { operation, orderId, amount, orderStatusAtThatMoment: status } = entry;
  return operation === 'refund'
    ? `refund ${String(orderId)} ${String(amount)} (${String(status)})`
    : `${String(operation)} ${String(orderId)}`;
}
