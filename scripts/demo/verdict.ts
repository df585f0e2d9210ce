import { setTimeout as elapse } from 'node:timers/promises';
import {
  messagesOf,
  type Expectation,
  type Ticket,
} from '../../examples/technova/agent/fixtures.ts';
import type { LogEntry } from '../../examples/technova/service/event-log.ts';
import { traceOf } from '../../src/cli/trace.ts';
import { readStory, type TurnStory } from '../../src/cli/turn-story.ts';
import { count } from '../../src/cli/wording.ts';
import type { LedgerRow } from '../../src/contracts/index.ts';
import type { Records } from '../../src/store/records.ts';
import { conversationOf } from './scenario.ts';
import type { Stage } from './stage.ts';

/** How one message of a ticket fared. A turn that has not ended has no outcome. */
export type TurnResult = {
  turnId: string | null;
  outcome: string | null;
  stopReason: string | null;
  phase: string;
  rounds: number;
  toolCalls: number;
  /** Texts of the model that the ticket desk has. */
  replies: number;
  durationMs: number | null;
};

/** One operation of a conversation: the row of the ledger, and how often the order service's log says it was done. */
export type EffectResult = {
  operation: string;
  tool: string;
  resource: string;
  amount: number | null;
  status: string;
  verified: boolean;
  applied: number;
};

/** The turn of the first message; effects are those of the whole conversation. */
export type TicketResult = { id: string; conversationId: string } & TurnResult & {
    effects: EffectResult[];
    followUps: ({ id: string } & TurnResult)[];
    asExpected: boolean;
  };

export type Difference = { about: string; expected: string; got: string };

export type Verdict = {
  tickets: TicketResult[];
  differences: Difference[];
  /** The turns of a ticket, oldest first. */
  storiesOf(ticket: Ticket): readonly TurnStory[];
  effectsInLog: { cancel: number; refund: number };
};

/** Reads the store and the logs of both services and holds them against the fixtures. */
export async function judge(
  { records, shop, desk }: Stage,
  tickets: readonly Ticket[],
): Promise<Verdict> {
  const stories = await readStories(records);
  const effects = await shop.client.log({ kind: 'effect' });
  const texts = await desk.client.log({ kind: 'effect' });
  const storiesOf = (ticket: Ticket): readonly TurnStory[] =>
    stories.get(conversationOf(ticket)) ?? [];
  const judged = await Promise.all(
    tickets.map(async (ticket) => {
      const ledger = await records.ledger(conversationOf(ticket));
      return judgeTicket(ticket, { stories: storiesOf(ticket), ledger, effects, texts });
    }),
  );
  const rows = judged.flatMap(({ result }) => result.effects);
  const inLog = (operation: string): number =>
    effects.filter((entry) => entry['operation'] === operation).length;
  return {
    tickets: judged.map(({ result }) => result),
    differences: [
      ...judged.flatMap(({ differences }) => differences),
      ...strayEffects(rows, effects),
    ],
    storiesOf,
    effectsInLog: { cancel: inLog('cancel'), refund: inLog('refund') },
  };
}

type Evidence = {
  stories: readonly TurnStory[];
  ledger: readonly LedgerRow[];
  effects: readonly LogEntry[];
  texts: readonly LogEntry[];
};

function judgeTicket(ticket: Ticket, { stories, ledger, effects, texts }: Evidence) {
  const parts = messagesOf(ticket).filter(({ expect }) => expect !== undefined);
  const turns = parts.map((_part, index) => turnResult(stories[index], texts));
  const rows = ledger.map((row) => effectResult(row, effects));
  const differences: Difference[] = [];
  const compare = (about: string, expected: string, got: string): void => {
    if (expected !== got) differences.push({ about, expected, got });
  };
  parts.forEach(({ expect, message }, index) => {
    const name = index === 0 ? ticket.id : message.messageId;
    compare(name, expect === undefined ? '' : expectedText(expect), gotText(turns[index]));
  });
  if (stories.length > parts.length)
    compare(`${ticket.id}: turns`, String(parts.length), String(stories.length));
  compare(`${ticket.id}: effects`, effectsText(ticket.effects), effectsText(rows));
  for (const { operation, tool, status, applied } of rows) {
    const done = status === 'verified' || status === 'applied' ? 1 : 0;
    compare(
      `${ticket.id}: ${tool} ${operation} in the order service's log`,
      `done ${count(done, 'time')}`,
      `done ${count(applied, 'time')}`,
    );
  }
  for (const { kind, id } of stories.flatMap(({ deliveries }) => deliveries)) {
    const found = texts.filter((entry) => entry['reference'] === id).length;
    compare(
      `${ticket.id}: ${kind} in the ticket desk's log`,
      'written 1 time',
      `written ${count(found, 'time')}`,
    );
  }
  const [first = turnResult(undefined, texts), ...others] = turns;
  const result: TicketResult = {
    ...{ id: ticket.id, conversationId: conversationOf(ticket) },
    ...first,
    effects: rows,
    followUps: others.map((turn, index) => ({
      id: parts[index + 1]?.message.messageId ?? '',
      ...turn,
    })),
    asExpected: differences.length === 0,
  };
  return { result, differences };
}

function turnResult(story: TurnStory | undefined, texts: readonly LogEntry[]): TurnResult {
  if (story === undefined) {
    const nothing = { rounds: 0, toolCalls: 0, replies: 0, durationMs: null };
    return { turnId: null, outcome: null, stopReason: null, phase: 'queued', ...nothing };
  }
  const { turnId, outcome, stopReason, phase, rounds, toolCalls, durationMs } = traceOf(story);
  const ids = story.deliveries.flatMap(({ kind, id }) => (kind === 'reply' ? [id] : []));
  const replies = texts.filter((entry) => ids.includes(String(entry['reference']))).length;
  return { turnId, outcome, stopReason, phase, rounds, toolCalls, replies, durationMs };
}

function effectResult(row: LedgerRow, effects: readonly LogEntry[]): EffectResult {
  const { operation, tool, resource, status } = row;
  const { amount = null } = row.arguments as { amount?: number };
  const applied = effects.filter((entry) => entry['idempotencyKey'] === operation).length;
  return { operation, tool, resource, amount, status, verified: status === 'verified', applied };
}

/** What was done and no ledger knows of. */
function strayEffects(rows: readonly EffectResult[], effects: readonly LogEntry[]): Difference[] {
  const known = new Set(rows.map(({ operation }) => operation));
  return effects
    .filter((entry) => !known.has(String(entry['idempotencyKey'])))
    .map((entry) => ({
      about: `order ${String(entry['orderId'])}`,
      expected: 'every effect is in the ledger',
      got: `${String(entry['operation'])} under the key ${String(entry['idempotencyKey'])} is not`,
    }));
}

function expectedText(expect: Expectation): string {
  return 'phase' in expect ? expect.phase : `${expect.outcome}/${expect.stopReason}`;
}

function gotText(turn: TurnResult | undefined): string {
  if (turn === undefined || turn.turnId === null) return 'no turn';
  return turn.outcome === null ? turn.phase : `${turn.outcome}/${turn.stopReason}`;
}

type Done = { tool: string; resource: string; amount?: number | null | undefined; status: string };

function effectsText(effects: readonly Done[]): string {
  const texts = effects.map(({ tool, resource, amount, status }) =>
    [tool, resource, ...(typeof amount === 'number' ? [amount] : []), status].join(' '),
  );
  return texts.length === 0 ? 'none' : texts.join(', ');
}

const MOST_TURNS = 10_000;
const LOOK_MS = 100;
/** How long texts may take to reach the ticket desk after the last turn. */
const DELIVERED_WITHIN_MS = 5_000;

/** All turns of the store by conversation, oldest first, once their texts have been delivered. */
async function readStories(records: Records): Promise<Map<string, TurnStory[]>> {
  for (const deadline = Date.now() + DELIVERED_WITHIN_MS; ; await elapse(LOOK_MS)) {
    const ids = await records.turnIds({ limit: MOST_TURNS });
    const stories = await Promise.all(ids.map((id) => readStory(records, id)));
    const onTheWay = stories.some(({ deliveries }) =>
      deliveries.some(({ status }) => status === 'pending' || status === 'sending'),
    );
    if (onTheWay && Date.now() < deadline) continue;
    const oldestFirst = stories.toSorted((a, b) => a.turn.startedAt - b.turn.startedAt);
    return Map.groupBy(oldestFirst, ({ turn }) => turn.conversationId);
  }
}
