import { handsOver, endingSchema, type Approval, type LedgerRow } from '../contracts/index.ts';
import { allCalls, digest, type CallState } from '../loop/index.ts';
import type { DeliveryView, Records, TurnOnRecord } from '../store/records.ts';
import { notFound } from './errors.ts';
import { missingLinks, type MissingLink } from './missing-links.ts';
import { replay, type Replay } from './replay.ts';

/** A turn with everything that is stored about it: what `turns show`, `trace` and `why` speak about. */
export type TurnStory = {
  turn: TurnOnRecord;
  replayed: Replay;
  calls: readonly CallState[];
  /** Rows of the ledger this turn wrote last. */
  ledger: readonly LedgerRow[];
  /** Rows of operations that an earlier turn had done already and this one asked for again. */
  earlier: readonly LedgerRow[];
  approvals: readonly Approval[];
  deliveries: readonly DeliveryView[];
  missing: readonly MissingLink[];
};

const DELIVERY_KINDS = ['holding', 'reply', 'handover', 'note'] as const;

/** @throws CommandError when there is no such turn */
export async function readStory(records: Records, turnId: string): Promise<TurnStory> {
  const turn = await records.onRecord(turnId);
  if (turn === undefined) throw notFound('turn', turnId, 'list them with "turnkeeper turns list"');
  const replayed = replay(turn.entries);
  const calls = allCalls(replayed.state);
  const operations = unique(
    calls.flatMap(({ effect }) => (effect === undefined ? [] : [effect.operation])),
  );
  const rows = await Promise.all(operations.map((operation) => records.operation(operation)));
  const inConversation = await records.ledger(turn.conversationId);
  const ledger = inConversation.filter((row) => row.turnId === turnId);
  const asked = unique(approvalIds(replayed));
  const approvals = await Promise.all(asked.map((id) => records.approval(id)));
  const deliveries = await Promise.all(
    DELIVERY_KINDS.map((kind) =>
      records.delivery(turn.conversationId, digest('delivery', turnId, kind)),
    ),
  );
  const found = deliveries.filter((one) => one !== undefined);
  const sent = sentOperations(replayed);
  return {
    turn,
    replayed,
    calls,
    ledger,
    earlier: rows.flatMap((row) => (row === undefined || row.turnId === turnId ? [] : [row])),
    approvals: approvals.filter((one) => one !== undefined),
    deliveries: found,
    missing: missingLinks(turn, replayed, {
      ledger,
      operations: operations
        .filter((operation) => sent.has(operation))
        .map((operation) => ({
          operation,
          found: rows.some((row) => row?.operation === operation),
        })),
      deliveries: expectedDeliveries(turn, replayed).map((kind) => ({
        kind,
        found: found.some((one) => one.kind === kind),
      })),
      approvals: asked.map((id, index) => ({ id, found: approvals[index] !== undefined })),
    }),
  };
}

function approvalIds({ steps }: Replay): string[] {
  return steps.flatMap(({ event }) =>
    // An approval record is written when its turn parks.
    event?.type === 'turn_parked' && event.park.approvalId !== undefined
      ? [event.park.approvalId]
      : [],
  );
}

function sentOperations({ steps }: Replay): Set<string> {
  return new Set(
    steps.flatMap(({ event, before }) => {
      if (event?.type !== 'call_started') return [];
      const operation = allCalls(before).find((call) => call.id === event.callId)?.effect
        ?.operation;
      return operation === undefined ? [] : [operation];
    }),
  );
}

/** The texts this turn must have left for the ticketing system. */
function expectedDeliveries(
  turn: TurnOnRecord,
  { steps, state }: Replay,
): (typeof DELIVERY_KINDS)[number][] {
  const parkedForPerson = steps.some(
    ({ event }) => event?.type === 'turn_parked' && event.park.kind === 'approval',
  );
  const holding = parkedForPerson ? (['holding'] as const) : [];
  const ending = endingSchema.safeParse({ outcome: turn.outcome, reason: turn.reason });
  if (!ending.success) return [...holding];
  if (handsOver(ending.data)) {
    return [
      ...holding,
      ...(ending.data.reason === 'human_takeover' ? [] : (['handover'] as const)),
      'note',
    ];
  }
  const proposal = state.rounds.at(-1)?.proposal;
  const silent = ending.data.outcome !== 'completed' || ending.data.reason === 'no_reply_needed';
  return silent || proposal === undefined ? [...holding] : [...holding, 'reply'];
}

function unique<T>(items: readonly T[]): T[] {
  return [...new Set(items)];
}
