import { z } from 'zod';
import {
  acceptedMessageSchema,
  approvalSchema,
  DELIVERY_KINDS,
  DELIVERY_STATUSES,
  InvalidInputError,
  ledgerRowSchema,
  turnEventSchema,
  verificationReadSchema,
} from '../contracts/index.ts';
import type { Records, TurnOnRecord } from '../store/records.ts';
import type { TurnStory } from './turn-story.ts';

const head = z.object({
  turnId: z.string(),
  conversationId: z.string(),
  phase: z.string(),
  outcome: z.string().nullable(),
  reason: z.string().nullable(),
  startedAt: z.number(),
  endedAt: z.number().nullable(),
  /** Events, messages, rows and texts that follow. */
  lines: z.number().int(),
});

const deliverySchema = z.object({
  id: z.string(),
  kind: z.enum(DELIVERY_KINDS),
  status: z.enum(DELIVERY_STATUSES),
  text: z.string(),
  turnId: z.string(),
});

const at = z.number();
/** One line of an exported turn. `at` in milliseconds since the epoch; events are numbered from 1. */
const lineSchema = z.discriminatedUnion('line', [
  head.extend({ line: z.literal('turn'), at }),
  z.object({ line: z.literal('message'), at, message: acceptedMessageSchema }),
  z.object({ line: z.literal('event'), at, number: z.number().int(), event: turnEventSchema }),
  z.object({
    line: z.literal('stored_read'),
    at,
    park: z.number().int(),
    read: verificationReadSchema,
    final: z.boolean(),
  }),
  z.object({ line: z.literal('approval'), at, approval: approvalSchema }),
  z.object({ line: z.literal('effect'), at, row: ledgerRowSchema }),
  z.object({ line: z.literal('delivery'), at, delivery: deliverySchema }),
]);
type Line = z.infer<typeof lineSchema>;

/** A turn and everything stored about it, one line a record, in the order of time behind the head. */
export function linesOf({ turn, ledger, earlier, approvals, deliveries }: TurnStory): Line[] {
  const { turnId, conversationId, phase, outcome, reason, startedAt, endedAt } = turn;
  const readable = turn.entries.flatMap((entry, index): Line[] =>
    'event' in entry
      ? [{ line: 'event', at: entry.event.at, number: index + 1, event: entry.event }]
      : [],
  );
  const others: Line[] = [
    ...turn.messages.map((message): Line => ({ line: 'message', at: message.acceptedAt, message })),
    ...turn.storedReads.map((one): Line => ({ line: 'stored_read', at: one.read.at, ...one })),
    ...approvals.map((approval): Line => ({
      line: 'approval',
      at: approval.requestedAt,
      approval,
    })),
    ...[...ledger, ...earlier].map((row): Line => ({ line: 'effect', at: row.attemptedAt, row })),
    ...deliveries.map((delivery): Line => ({
      line: 'delivery',
      at: endedAt ?? startedAt,
      delivery,
    })),
  ];
  // The order of the events is that of the record, whatever their times say.
  const body = merged(
    readable,
    others.toSorted((a, b) => a.at - b.at),
  );
  const first: Line = {
    line: 'turn',
    at: startedAt,
    ...{ turnId, conversationId, phase, outcome, reason, startedAt, endedAt },
    lines: body.length,
  };
  return [first, ...body];
}

function merged(events: readonly Line[], others: readonly Line[]): Line[] {
  const body: Line[] = [];
  const waiting = [...others];
  for (const event of events) {
    while (waiting[0] !== undefined && waiting[0].at <= event.at)
      body.push(...waiting.splice(0, 1));
    body.push(event);
  }
  return [...body, ...waiting];
}

/** What is not there, and behind which event it should stand. */
export type Gap = { after: number; text: string };

/** An exported turn, read back, and the lines that are not there. */
export type ReadBack = {
  turnId: string;
  records: Pick<Records, 'onRecord' | 'operation' | 'ledger' | 'approval' | 'delivery'>;
  gaps: Gap[];
};

/** @throws InvalidInputError when the text is no exported turn */
export function readBack(text: string): ReadBack {
  const lines = text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line, index) => parseLine(line, index + 1));
  const [first] = lines;
  if (first?.line !== 'turn') {
    throw new InvalidInputError(
      'line 1',
      first?.line ?? '',
      'the head of a turn must stand there, as "turnkeeper trace export" writes it',
    );
  }
  const of = <Kind extends Line['line']>(kind: Kind) =>
    lines.filter((line): line is Extract<Line, { line: Kind }> => line.line === kind);
  const { turnId, conversationId, phase, outcome, reason, startedAt, endedAt } = first;
  const turn: TurnOnRecord = {
    ...{ turnId, conversationId, phase, outcome, reason, startedAt, endedAt },
    open: endedAt === null,
    park: null,
    messages: of('message').map(({ message }) => message),
    entries: of('event').map(({ event }) => ({ event })),
    storedReads: of('stored_read').map(({ park, read, final }) => ({ park, read, final })),
    request: null,
    holder: {
      ...{ owner: 'agent', worker: 'none', heldUntil: null },
      ...{ takenBy: null, takenAt: null },
    },
  };
  const rows = of('effect').map(({ row }) => row);
  return {
    turnId,
    records: {
      onRecord: (id) => Promise.resolve(id === turnId ? turn : undefined),
      operation: (id) => Promise.resolve(rows.find(({ operation }) => operation === id)),
      ledger: () => Promise.resolve(rows),
      approval: (id) =>
        Promise.resolve(of('approval').find(({ approval }) => approval.id === id)?.approval),
      delivery: (_conversation, id) =>
        Promise.resolve(of('delivery').find(({ delivery }) => delivery.id === id)?.delivery),
    },
    gaps: gapsIn(
      of('event').map(({ number }) => number),
      first.lines,
      lines.length - 1,
    ),
  };
}

function parseLine(text: string, number: number): Line {
  const line = lineSchema.safeParse(jsonOrUndefined(text));
  if (line.success) return line.data;
  const [issue] = line.error.issues;
  const field = `line ${number}${issue?.path.length ? `, ${issue.path.join('.')}` : ''}`;
  throw new InvalidInputError(field, text, 'must be a line written by "turnkeeper trace export"');
}

function jsonOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Events that are missing by their number, and other lines by their count. */
function gapsIn(numbers: readonly number[], expected: number, found: number): Gap[] {
  const present = new Set(numbers);
  const last = Math.max(0, ...numbers);
  const missing = Array.from({ length: last }, (_, index) => index + 1).filter(
    (number) => !present.has(number),
  );
  const gaps = missing.map((number) => ({
    after: number - 1,
    text: `event ${number} is not there`,
  }));
  const others = expected - found - missing.length;
  if (others <= 0) return gaps;
  return [...gaps, { after: last, text: `${others} further lines of ${expected} are not there` }];
}
