import { isDeepStrictEqual } from 'node:util';
import { OpenSpanError, traceOf } from '../src/telemetry/index.ts';
import type { EvalCase } from './case.ts';
import type { Findings } from './findings.ts';
import type { Played } from './host.ts';
import { shapeOf } from './shape.ts';

/** The three levels at which a case is judged; the one that fails says where to look. */
export const FAILURE_KINDS = {
  outcome: 'look at what the model proposed and at the rules that end a turn',
  history: 'look at what was committed, at the ledger and at the calls themselves',
  trace: 'look at the order of rounds, re-reads and waits, and at the spans',
} as const;
export type FailureKind = keyof typeof FAILURE_KINDS;
export type Failure = { kind: FailureKind; what: string; expected: unknown; got: unknown };

/** What is otherwise than a case expects, at each level. */
export function judge({ expect }: EvalCase, findings: Findings, played: Played): Failure[] {
  const { outcome, history, trace } = expect;
  const failures: Failure[] = [];
  const compare = (kind: FailureKind, what: string, expected: unknown, got: unknown): void => {
    if (!isDeepStrictEqual(expected, got)) failures.push({ kind, what, expected, got });
  };
  compare('outcome', 'turns', outcome.turns, findings.turns);
  const texts = findings.texts.join('\n');
  for (const words of outcome.says.filter((one) => !texts.includes(one))) {
    failures.push({ kind: 'outcome', what: 'says', expected: words, got: texts });
  }
  for (const words of outcome.neverSays.filter((one) => texts.includes(one))) {
    failures.push({ kind: 'outcome', what: 'neverSays', expected: words, got: texts });
  }
  for (const part of ['entries', 'ledger', 'deliveries', 'effects'] as const) {
    compare('history', part, history[part], findings[part]);
  }
  compare('trace', 'shape', trace, findings.trace);
  return [...failures, ...untruthsOf(played)];
}

/** A trace that leaves something open, or tells another story than the record of the same turn. */
function untruthsOf({ store, traces }: Played): Failure[] {
  return store.turns.flatMap(({ turnId, events, ending }): Failure[] => {
    const seen = traces.get(turnId);
    if (seen === undefined || ending === undefined) return [];
    const told = shapeOf(seen, events);
    const recorded = shapeOf(traceOf(events), events);
    const failures: Failure[] = [];
    if (!isDeepStrictEqual(recorded, told)) {
      failures.push({ kind: 'trace', what: 'the record', expected: recorded, got: told });
    }
    try {
      seen.close(0, 'strict');
    } catch (error) {
      if (!(error instanceof OpenSpanError)) throw error;
      failures.push({ kind: 'trace', what: 'open spans', expected: [], got: error.message });
    }
    return failures;
  });
}
