import type { LedgerRow } from '../contracts/index.ts';
import { allCalls } from '../loop/index.ts';
import type { TurnOnRecord } from '../store/records.ts';
import type { MissingLink } from './missing-links.ts';
import type { Replay } from './replay.ts';

/** What else is stored about the turn, for the links that lead out of its events. */
export type Neighbours = {
  /** The rows of the ledger that the turn wrote last. */
  ledger: readonly LedgerRow[];
  /** The operations the turn sent, and whether the ledger knows them. */
  operations: readonly { operation: string; found: boolean }[];
  /** Texts the turn must have left for the ticketing system, and whether they are on record. */
  deliveries: readonly { kind: string; found: boolean }[];
  /** Approvals the turn asked for, and whether their record exists. */
  approvals: readonly { id: string; found: boolean }[];
};

/** A re-read that was stored while the turn waited, and is not among those the turn took in when it woke. */
export function missingReads(turn: TurnOnRecord, { steps }: Replay): MissingLink[] {
  const taken = new Map<number, { at: number; number: number }[]>();
  let park = 0;
  for (const { event, number } of steps) {
    if (event?.type === 'turn_parked') park = event.park.number;
    else if (event?.type === 'verification_started') park = 0;
    else if (event?.type === 'verification_read' && park > 0) {
      taken.set(park, [...(taken.get(park) ?? []), { at: event.read.at, number }]);
    }
  }
  return [...taken].flatMap(([inPark, reads]) => {
    const stored = turn.storedReads.filter((one) => one.park === inPark);
    return reads.flatMap(({ at, number }, index): MissingLink[] => {
      const expected = stored[index]?.read.at;
      if (expected === undefined || expected === at || reads.some((one) => one.at === expected))
        return [];
      const text = `re-read ${index + 1} of wait ${inPark} was stored, and the turn has not taken it in`;
      return [{ after: number - 1, text, explained: false }];
    });
  });
}

/** Links that lead out of the events: into the ledger, to the approvals, to the ticketing system. */
export function missingNeighbours({ steps, state }: Replay, near: Neighbours): MissingLink[] {
  const links: MissingLink[] = [];
  const last = steps.length;
  const miss = (after: number, text: string): number =>
    links.push({ after, text, explained: false });
  const calls = allCalls(state);
  const sent = new Map<string, number>();
  for (const { event, number } of steps)
    if (event?.type === 'call_started') sent.set(event.callId, number);

  for (const { operation, found } of near.operations) {
    if (found) continue;
    const call = calls.find((one) => one.effect?.operation === operation);
    miss(
      sent.get(call?.id ?? '') ?? last,
      `the ledger has no row of call ${call?.id} (operation ${operation})`,
    );
  }
  for (const { tool, callId } of near.ledger) {
    if (sent.has(callId)) continue;
    miss(
      last,
      `the ledger has ${tool} of call ${callId}, and the record has no call_started of it`,
    );
  }
  for (const { kind, found } of near.deliveries) {
    if (!found) miss(last, `the ${kind} was never written back: it has no delivery record`);
  }
  for (const { id, found } of near.approvals) {
    if (!found) miss(last, `approval ${id} was asked for and has no record`);
  }
  return links;
}
