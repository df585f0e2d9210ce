import { reasonOf, type Evidence } from './evidence.ts';
import type { Add } from './judge.ts';

// What must hold for the workers themselves.

/** The record's own alarm: somebody wrote whose claim had been taken over. */
export function oneWriter({ complaints }: Evidence, add: Add): void {
  for (const complaint of complaints) {
    const why = reasonOf(complaint);
    if (why?.includes('TK_SEQ')) add(why);
  }
}

/** A lost lock or connection may throw a worker off its turn; nothing else may. */
const LOSSES = /lock|Missing key|Connection is closed|not in the .* state/i;

export function noTurnStuck({ complaints }: Evidence, add: Add): void {
  for (const complaint of complaints) {
    const why = reasonOf(complaint) ?? 'nobody knows why';
    if (complaint.msg === 'turn stuck' && !LOSSES.test(why)) add(why);
  }
}

export function noWorkerEnds({ endedByThemselves }: Evidence, add: Add): void {
  for (const end of endedByThemselves) add(end);
}
