import type { Evidence } from './evidence.ts';
import {
  everyEffectOnce,
  ledgerVerified,
  nothingBeforeItsTime,
  nothingOutside,
  oneDecision,
  oneKeyPerEffect,
} from './rules-of-effects.ts';
import {
  everyTurnCompleted,
  noOverlap,
  oneOutcome,
  oneReply,
  orderKept,
} from './rules-of-turns.ts';
import { noTurnStuck, noWorkerEnds, oneWriter } from './rules-of-workers.ts';

/** A broken promise: which rule, and what shows it. */
export type Finding = { rule: string; what: string };

export type Add = (what: string) => void;
type Rule = (evidence: Evidence, add: Add) => void;

/** What must hold whatever happened on the way. */
const RULES: Record<string, Rule> = {
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

/** Holds a run against the rules, by the services' own logs and the store. */
export function judge(evidence: Evidence): Finding[] {
  return Object.entries(RULES).flatMap(([rule, check]) => {
    const found: Finding[] = [];
    check(evidence, (what) => found.push({ rule, what }));
    return found;
  });
}
