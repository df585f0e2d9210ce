import { z } from 'zod';
import type { ActResult } from './operator-port.ts';
import { notFound, Problem } from './problem.ts';

/** What an act came to; what else there is to say about it stands beside `kind`. */
export const actResult = z.looseObject({ kind: z.string() });

/** Results that mean the act was not done, and what the caller is told. */
const CONFLICTS: Readonly<Record<string, string>> = {
  not_open: 'the turn has ended already; nothing was stopped',
  ended: 'the turn has ended already; nothing was stopped',
  in_flight: 'the turn of this effect is not over and may still find out by itself',
  stale: 'it has moved on since; look again',
  refused: 'it is in a state in which that cannot be done; look again',
  changed: 'what is stored is not what was planned; plan again',
};

/** @throws Problem when the act found nothing, or came too late */
export function answerAct<T extends ActResult>(result: T, what: string, id: string): T {
  if (result.kind === 'not_found') throw notFound(what, id);
  const conflict = CONFLICTS[result.kind];
  if (conflict === undefined) return result;
  throw new Problem(409, { code: result.kind, detail: conflict });
}
