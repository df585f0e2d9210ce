import { DEFAULT_LIMITS, PHASES, type TurnEvent } from '../contracts/index.ts';
import {
  decide,
  initialState,
  phasesAfter,
  type LoopPhase,
  type TurnState,
} from '../loop/index.ts';
import type { RecordEntry } from '../store/records.ts';

/** One entry of the record, with the state it led to. */
export type Step = {
  /** Its place in the record, from 1. */
  number: number;
  event: TurnEvent | undefined;
  before: TurnState;
  after: TurnState;
  /** The loop would have refused this event here: something before it is missing. */
  broken: boolean;
};

export type Replay = { steps: readonly Step[]; state: TurnState };

/**
 * Folds a record the way the loop does, but goes on where the loop would stop: the question here is what a damaged
 * record still tells.
 */
export function replay(entries: readonly RecordEntry[]): Replay {
  let state = initialState(DEFAULT_LIMITS);
  const steps = entries.map((entry, index): Step => {
    const before = state;
    const number = index + 1;
    if (!('event' in entry))
      return { number, event: undefined, before, after: before, broken: true };
    const next = advance(before, entry.event);
    state = next ?? resync(before, entry.event);
    return { number, event: entry.event, before, after: state, broken: next === undefined };
  });
  return { steps, state };
}

function advance(state: TurnState, event: TurnEvent): TurnState | undefined {
  try {
    return decide(state, event).state;
  } catch {
    return undefined;
  }
}

/** Puts the turn into a phase in which the event could have happened. */
function resync(state: TurnState, event: TurnEvent): TurnState {
  const phases: readonly LoopPhase[] = [...PHASES, 'ended'];
  for (const phase of phases) {
    if (phasesAfter(phase, event.type).length === 0) continue;
    const next = advance({ ...state, phase }, event);
    if (next !== undefined) return next;
  }
  return state;
}
