import type { Command } from 'commander';
import type { Blocked } from '../store/records.ts';
import { withRecords } from './connection.ts';
import { perform, type Invocation } from './invocation.ts';
import type { ListView } from './output.ts';
import { wholeNumber } from './whole-number.ts';
import { day, duration, iso, isoOrNull } from './wording.ts';

/** The JSON of a row of `blocked`. */
export type BlockedRow = {
  conversationId: string;
  /** The turn that holds it; null when no worker has taken it yet. */
  turnId: string | null;
  heldBy: string;
  owner: 'agent' | 'human';
  /** Who took it from the agent. */
  takenBy: string | null;
  heldSince: string;
  heldForMs: number;
  /** Messages behind the turn. */
  behind: number;
  /** The first of them. */
  waiting: { requester: string; messageId: string; acceptedAt: string }[];
  oldestWaitingSince: string | null;
  freesItself: boolean;
  freesItselfAt: string | null;
  /** In words, with the command that helps if it does not. */
  outlook: string;
};

export function addBlocked(program: Command): void {
  program
    .command('blocked')
    .description(
      'Conversations that wait: held by what, since when, who waits behind, and whether it frees itself.',
    )
    .option('--limit <n>', 'how many at most', wholeNumber(1_000), 100)
    .action((options: { limit: number }, command: Command) =>
      perform(command, (invocation) => blocked(invocation, options.limit)),
    );
}

const VIEW: ListView<BlockedRow> = {
  id: (row) => row.conversationId,
  columns: [
    { title: 'CONVERSATION', cell: (row) => row.conversationId },
    {
      title: 'HELD BY',
      cell: (row) => (row.turnId === null ? row.heldBy : `${row.turnId} ${row.heldBy}`),
    },
    { title: 'FOR', cell: (row) => duration(row.heldForMs) },
    { title: 'BEHIND', cell: behindText },
    { title: 'FREES ITSELF', cell: (row) => row.outlook },
  ],
  empty: 'No customer is waiting behind another turn.',
};

function behindText(row: BlockedRow): string {
  const [first] = row.waiting;
  if (first === undefined) return '0';
  const since = day(Date.parse(first.acceptedAt));
  return `${row.behind} (first ${first.requester}, since ${since})`;
}

async function blocked({ settings, out }: Invocation, limit: number): Promise<void> {
  const found = await withRecords(settings, ({ records }) => records.blocked(limit));
  out.list(
    found.map((one) => rowOf(one, Date.now())),
    VIEW,
  );
}

function rowOf(one: Blocked, now: number): BlockedRow {
  const { heldBy, freesItself, at, outlook } = outlookOf(one, now);
  const { owner, takenBy } = one.holder;
  return {
    conversationId: one.conversationId,
    turnId: one.turnId === '' ? null : one.turnId,
    heldBy: owner === 'human' ? `${heldBy}, ${ownerText(takenBy)}` : heldBy,
    ...{ owner, takenBy },
    heldSince: iso(one.since),
    heldForMs: Math.max(0, now - one.since),
    behind: one.behind,
    waiting: one.waiting.map(({ requester, messageId, acceptedAt }) => ({
      ...{ requester: requester.id, messageId, acceptedAt: iso(acceptedAt) },
    })),
    oldestWaitingSince: isoOrNull(one.oldestWaitingSince),
    freesItself,
    freesItselfAt: isoOrNull(at),
    outlook,
  };
}

function ownerText(takenBy: string | null): string {
  return takenBy === null ? 'handed over to people' : `taken over by ${takenBy}`;
}

type Outlook = { heldBy: string; freesItself: boolean; at?: number; outlook: string };

function outlookOf({ turnId, park, phase, holder }: Blocked, now: number): Outlook {
  if (turnId === '') {
    return {
      ...{ heldBy: 'nobody: no worker has taken it', freesItself: true },
      outlook: 'yes, when a worker runs (turnkeeper doctor)',
    };
  }
  const at = park?.dueAt ?? 0;
  switch (park?.kind) {
    case 'approval':
      return {
        ...{ heldBy: 'waiting for approval', freesItself: false, at },
        outlook: `no, needs a person (turnkeeper approvals show ${park.approvalId}); stops by itself ${iso(at)}`,
      };
    case 'verification':
      return {
        heldBy: 'waiting for re-read',
        freesItself: true,
        at,
        outlook: `yes, re-read ${iso(at)}`,
      };
    case 'back_off':
      return {
        heldBy: 'backing off',
        freesItself: true,
        at,
        outlook: `yes, tries again ${iso(at)}`,
      };
    default:
  }
  const { heldUntil } = holder;
  if (heldUntil !== null && heldUntil > now) {
    return {
      ...{ heldBy: 'held back after it got stuck', freesItself: true, at: heldUntil },
      outlook: `yes, tries again ${iso(heldUntil)}`,
    };
  }
  if (holder.worker === 'alive') {
    return { heldBy: `running (${phase})`, freesItself: true, outlook: 'yes, when the turn ends' };
  }
  return {
    ...{ heldBy: 'worker lost', freesItself: true },
    outlook: 'yes, when another worker takes over (turnkeeper doctor)',
  };
}
