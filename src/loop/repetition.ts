import type { CallResult } from '../contracts/index.ts';
import { actionHash } from './identity.ts';
import type { CallState, Round, TurnState } from './state.ts';

// Whether a turn gets anywhere: the same request with the same result, again and again, is no progress however it is worded.

/** Rounds in a row that asked the same and heard the same, and how far back the pattern goes. */
export type Repetition = { pattern: 'identical' | 'alternating'; rounds: number };

/** Looks at the last rounds: A, A, A (as often as the limit says) or A, B, A, B (one more than that). */
export function repetitionOf({ rounds, limits }: TurnState): Repetition | undefined {
  const prints = rounds.map(roundPrint);
  const last = prints.at(-1);
  if (last === undefined) return undefined;
  const different = prints.findLastIndex((print) => print !== last);
  const identical = prints.length - 1 - different;
  if (identical >= limits.identicalFailures) return { pattern: 'identical', rounds: identical };
  const turns = prints.slice(-Math.max(4, limits.identicalFailures + 1));
  const alternates = turns.every(
    (print, index) =>
      print !== undefined && print === turns[index % 2] && print !== turns[1 - (index % 2)],
  );
  const enough = turns.length > limits.identicalFailures && turns.length >= 4;
  return enough && alternates ? { pattern: 'alternating', rounds: turns.length } : undefined;
}

/** The n-th identical failure since the last success. */
export function identicalFailures({ failures }: Pick<TurnState, 'failures'>): number {
  return Math.max(0, ...Object.values(failures));
}

/** What was asked and what came back; cosmetic arguments stay out, as their tool's contract says. */
export function fingerprint(call: CallState, result: CallResult): string {
  return `${call.request ?? actionHash(call.tool, call.arguments)} ${heard(result)}`;
}

function roundPrint({ calls }: Round): string | undefined {
  if (calls.length === 0 || calls.some((call) => call.result === undefined)) return undefined;
  return calls
    .flatMap((call) => (call.result === undefined ? [] : [fingerprint(call, call.result)]))
    .toSorted()
    .join('\n');
}

function heard(result: CallResult): string {
  return result.kind === 'ok' ? `ok ${result.observation.hash}` : `${result.kind} ${result.code}`;
}
