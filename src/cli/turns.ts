import type { Command } from 'commander';
import type { Records } from '../store/records.ts';
import { withRecords } from './connection.ts';
import { perform, type Invocation } from './invocation.ts';
import type { ListView, Output } from './output.ts';
import { replay } from './replay.ts';
import { readStory, type TurnStory } from './turn-story.ts';
import { visible } from './visible-text.ts';
import { wholeNumber } from './whole-number.ts';
import { ownerNote, stopView, storyOfEnd, unheeded } from './why-card.ts';
import { count, day, dollars, duration, iso, isoOrNull } from './wording.ts';

/** The JSON of a row of `turns list`. */
export type TurnRow = {
  turnId: string;
  conversationId: string;
  phase: string;
  outcome: string | null;
  stopReason: string | null;
  startedAt: string;
  endedAt: string | null;
  durationMs: number | null;
  messages: number;
  rounds: number;
  toolCalls: number;
  tokens: number;
  costMicros: number;
  /** What a parked turn waits for, and until when. */
  waitsFor: string | null;
  waitsUntil: string | null;
};

export function addTurns(program: Command): void {
  const turns = program.command('turns').description('What is going on and what has ended.');
  turns
    .command('list')
    .description('Turns, newest first: those going on, then those that ended.')
    .option('--open', 'only turns that have not ended')
    .option('--limit <n>', 'how many at most', wholeNumber(1_000), 20)
    .action((options: { open?: boolean; limit: number }, command: Command) =>
      perform(command, (invocation) => list(invocation, options)),
    );
  turns
    .command('show')
    .description('One turn: its messages, effects, approvals and texts.')
    .argument('<id>')
    .action((id: string, _options: unknown, command: Command) =>
      perform(command, (invocation) => show(invocation, id)),
    );
}

const LIST: ListView<TurnRow> = {
  id: (row) => row.turnId,
  columns: [
    { title: 'TURN', cell: (row) => row.turnId },
    { title: 'CONVERSATION', cell: (row) => row.conversationId },
    { title: 'STATE', cell: stateOf },
    { title: 'STARTED', cell: (row) => day(Date.parse(row.startedAt)) },
    { title: 'TOOK', cell: (row) => (row.durationMs === null ? null : duration(row.durationMs)) },
    { title: 'ROUNDS', cell: (row) => row.rounds },
    { title: 'CALLS', cell: (row) => row.toolCalls },
    { title: 'COST', cell: (row) => dollars(row.costMicros) },
  ],
  empty: 'No turns. Hand a message in with "turnkeeper enqueue <file>".',
};

function stateOf(row: TurnRow): string {
  return row.outcome === null ? row.phase : `${row.outcome}/${row.stopReason}`;
}

async function list(
  { settings, out }: Invocation,
  options: { open?: boolean; limit: number },
): Promise<void> {
  const rows = await withRecords(settings, ({ records }) => readRows(records, options));
  const view = options.open ? { ...LIST, empty: 'No turn is going on.' } : LIST;
  out.list(rows, view);
}

async function readRows(
  records: Records,
  options: { open?: boolean; limit: number },
): Promise<TurnRow[]> {
  const ids = await records.turnIds(options);
  const turns = await Promise.all(ids.map((id) => records.onRecord(id)));
  return turns
    .filter((turn) => turn !== undefined)
    .toSorted(
      (a, b) => (b.endedAt ?? Infinity) - (a.endedAt ?? Infinity) || b.startedAt - a.startedAt,
    )
    .map((turn) => rowOf({ turn, replayed: replay(turn.entries) }));
}

function rowOf({ turn, replayed }: Pick<TurnStory, 'turn' | 'replayed'>): TurnRow {
  const { spent, rounds } = replayed.state;
  return {
    turnId: turn.turnId,
    conversationId: turn.conversationId,
    phase: turn.phase,
    outcome: turn.outcome,
    stopReason: turn.reason,
    startedAt: iso(turn.startedAt),
    endedAt: isoOrNull(turn.endedAt),
    durationMs: turn.endedAt === null ? null : turn.endedAt - turn.startedAt,
    messages: turn.messages.length,
    rounds: rounds.length,
    toolCalls: spent.toolCalls,
    tokens: spent.tokens,
    costMicros: spent.costMicros,
    waitsFor: turn.park?.kind ?? null,
    waitsUntil: isoOrNull(turn.park?.dueAt),
  };
}

async function show({ settings, out }: Invocation, id: string): Promise<void> {
  const story = await withRecords(settings, ({ records }) => readStory(records, id));
  out.card(details(story), { id: (one) => one.turnId, text: (one) => detailsText(one, out) });
}

function details(story: TurnStory) {
  const { turn, ledger, earlier, approvals, deliveries } = story;
  return {
    ...rowOf(story),
    why: storyOfEnd(story).sentence,
    owner: turn.holder.owner,
    takenBy: turn.holder.takenBy,
    stop: stopView(story),
    skills: [...story.replayed.state.skills],
    notes: [...unheeded(story), ...ownerNote(story)],
    customer: turn.messages.map(({ messageId, requester, subject, text, acceptedAt }) => ({
      messageId,
      requester: requester.id,
      assurance: requester.assurance,
      subject: subject ?? null,
      text,
      acceptedAt: iso(acceptedAt),
    })),
    effects: [...ledger, ...earlier].map(({ operation, tool, resource, status, attempts }) => ({
      ...{ operation, tool, resource, status, attempts },
      verified: status === 'verified',
    })),
    approvals: approvals.map(({ id, status, tool, reason }) => ({ id, status, tool, reason })),
    deliveries: deliveries.map(({ id, kind, status, text }) => ({ id, kind, status, text })),
    recordComplete: story.missing.every((link) => link.explained),
  };
}
type TurnDetails = ReturnType<typeof details>;

function detailsText(turn: TurnDetails, out: Output): string {
  const section = (title: string, lines: readonly string[]): string[] =>
    lines.length === 0 ? [] : ['', out.strong(title), ...lines.map((line) => `  ${visible(line)}`)];
  const took = turn.durationMs === null ? 'not ended' : duration(turn.durationMs);
  return [
    out.strong(`turn ${turn.turnId}  ${visible(turn.conversationId)}  ${stateOf(turn)}`),
    `started ${day(Date.parse(turn.startedAt))}, ${took}, ${count(turn.rounds, 'round')}, ` +
      `${count(turn.toolCalls, 'tool call')}, ${count(turn.tokens, 'token')}, ${dollars(turn.costMicros)}`,
    visible(turn.why),
    ...turn.notes.map(visible),
    ...section(
      'Messages',
      turn.customer.map(({ requester, assurance, text }) => `${requester} (${assurance}): ${text}`),
    ),
    ...section(
      'Effects',
      turn.effects.map(
        ({ tool, resource, status, operation, attempts }) =>
          `${tool} on ${resource}: ${status}, ${count(attempts, 'attempt')}, operation ${operation}`,
      ),
    ),
    ...section(
      'Approvals',
      turn.approvals.map(({ id, status, tool, reason }) => `${id} ${status}: ${tool}, ${reason}`),
    ),
    ...section(
      'Procedures',
      turn.skills.map(({ name, version }) => `${name} ${version}`),
    ),
    ...section(
      'Texts',
      turn.deliveries.map(({ kind, status, text }) => `${kind} (${status}): ${text}`),
    ),
    ...(turn.recordComplete ? [] : ['', `The record has gaps: turnkeeper trace ${turn.turnId}`]),
  ].join('\n');
}
