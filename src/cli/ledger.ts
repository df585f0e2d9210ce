import { Option, type Command } from 'commander';
import type { LedgerRow } from '../contracts/index.ts';
import type { Records } from '../store/records.ts';
import { withRecords } from './connection.ts';
import { notFound, usageError } from './errors.ts';
import { perform, type Invocation } from './invocation.ts';
import type { ListView } from './output.ts';
import { addSettle } from './settle-effect.ts';
import { wholeNumber } from './whole-number.ts';
import { day, iso, isoOrNull } from './wording.ts';

type Filter = { conversation?: string; turn?: string; operation?: string; limit: number };

/** The JSON of a row of the ledger. */
export type LedgerView = {
  operation: string;
  tool: string;
  resource: string;
  occurrence: string;
  status: LedgerRow['status'];
  verified: boolean;
  attempts: number;
  conversationId: string;
  turnId: string;
  callId: string;
  intent: string;
  actionHash: string;
  arguments: unknown;
  outcome: unknown;
  attemptedAt: string;
  settledAt: string | null;
  verifiedAt: string | null;
  /** Where a person said what became of it. */
  settledBy: string | null;
  evidence: string | null;
};

export function addLedger(program: Command): void {
  const ledger = program
    .command('ledger')
    .description(
      'What the agent really did: one row per operation. Without a filter: of the newest turns.',
    )
    .addOption(
      new Option('--conversation <id>', 'of one conversation').conflicts(['turn', 'operation']),
    )
    .addOption(
      new Option('--turn <id>', 'what one turn wrote').conflicts(['conversation', 'operation']),
    )
    .addOption(new Option('--operation <key>', 'one operation').conflicts(['conversation', 'turn']))
    .option('--limit <n>', 'turns looked at when no filter is given', wholeNumber(1_000), 50)
    .action((filter: Filter, command: Command) =>
      perform(command, (invocation) => list(invocation, filter)),
    );
  addSettle(ledger);
}

const VIEW: ListView<LedgerView> = {
  id: (row) => row.operation,
  columns: [
    { title: 'OPERATION', cell: (row) => row.operation },
    { title: 'TOOL', cell: (row) => row.tool },
    { title: 'RESOURCE', cell: (row) => row.resource },
    { title: 'STATUS', cell: (row) => row.status },
    { title: 'TRIES', cell: (row) => row.attempts },
    { title: 'CONVERSATION', cell: (row) => row.conversationId },
    { title: 'TURN', cell: (row) => row.turnId },
    { title: 'SENT', cell: (row) => day(Date.parse(row.attemptedAt)) },
  ],
  empty: 'The ledger is empty here: no action that changes anything was sent.',
};

async function list({ settings, out }: Invocation, filter: Filter): Promise<void> {
  const rows = await withRecords(settings, ({ records }) => rowsOf(records, filter));
  out.list(rows.map(viewOf), VIEW);
}

async function rowsOf(records: Records, filter: Filter): Promise<LedgerRow[]> {
  const { conversation, turn, operation, limit } = filter;
  if ([conversation, turn, operation].includes('')) {
    throw usageError('a filter is empty: name a conversation, a turn or an operation');
  }
  if (operation !== undefined) {
    const row = await records.operation(operation);
    if (row === undefined)
      throw notFound('operation', operation, 'see "turnkeeper ledger --conversation <id>"');
    return [row];
  }
  if (turn !== undefined) {
    const found = await records.onRecord(turn);
    if (found === undefined) throw notFound('turn', turn, 'list them with "turnkeeper turns list"');
    const rows = await records.ledger(found.conversationId);
    return rows.filter((row) => row.turnId === turn);
  }
  if (conversation !== undefined) {
    if ((await records.conversation(conversation)) === undefined) {
      throw notFound('conversation', conversation, 'its id is <source>/<the id the source uses>');
    }
    return records.ledger(conversation);
  }
  return newest(records, limit);
}

async function newest(records: Records, limit: number): Promise<LedgerRow[]> {
  const ids = await records.turnIds({ limit });
  const turns = await Promise.all(ids.map((id) => records.onRecord(id)));
  const conversations = new Set(
    turns.flatMap((turn) => (turn === undefined ? [] : [turn.conversationId])),
  );
  const rows = await Promise.all([...conversations].map((one) => records.ledger(one)));
  return rows.flat().toSorted((a, b) => a.attemptedAt - b.attemptedAt);
}

function viewOf(row: LedgerRow): LedgerView {
  const {
    operation,
    tool,
    resource,
    occurrence,
    status,
    attempts,
    conversationId,
    turnId,
    callId,
  } = row;
  return {
    ...{ operation, tool, resource, occurrence, status, verified: status === 'verified', attempts },
    ...{ conversationId, turnId, callId, intent: row.intent, actionHash: row.actionHash },
    arguments: row.arguments,
    outcome: row.outcome ?? null,
    attemptedAt: iso(row.attemptedAt),
    settledAt: isoOrNull(row.settledAt),
    verifiedAt: isoOrNull(row.verifiedAt),
    ...{ settledBy: row.settledBy ?? null, evidence: row.evidence ?? null },
  };
}
