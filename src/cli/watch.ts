import { setTimeout as elapse } from 'node:timers/promises';
import type { Command } from 'commander';
import type { Records, TurnOnRecord } from '../store/records.ts';
import { askedToStop } from './asked-to-stop.ts';
import { withRecords } from './connection.ts';
import { EXIT, type ExitCode } from './errors.ts';
import { perform, type Invocation } from './invocation.ts';
import type { Output } from './output.ts';
import { replay } from './replay.ts';
import { visible } from './visible-text.ts';
import { wholeNumber } from './whole-number.ts';
import { clock, count, dollars, duration, iso } from './wording.ts';

/** One step of a turn, as `-o jsonl` prints it. */
export type WatchedStep = {
  at: string;
  turnId: string;
  conversationId: string;
  step: number;
  event: string;
  phase: string;
  outcome: string | null;
  stopReason: string | null;
};

export function addWatch(program: Command): void {
  program
    .command('watch')
    .description(
      'Live turns: a screen at a terminal, a line for each step elsewhere. Ctrl-C ends it.',
    )
    .option('--limit <n>', 'turns looked at', wholeNumber(200), 20)
    .option('--every <ms>', 'time between two looks', wholeNumber(60_000), 1_000)
    .action((options: { limit: number; every: number }, command: Command) =>
      perform(command, (invocation) => watch(invocation, options)),
    );
}

async function watch(
  { settings, out }: Invocation,
  { limit, every }: { limit: number; every: number },
): Promise<ExitCode> {
  const stop = new AbortController();
  const asked = askedToStop().then((signal) => {
    stop.abort();
    return signal;
  });
  await withRecords(settings, async ({ records }) => {
    const steps = new NewSteps(await look(records, limit));
    const screen = out.isText && process.stdout.isTTY;
    out.note('watching; stop with Ctrl-C');
    while (!stop.signal.aborted) {
      const turns = await look(records, limit);
      if (screen) out.write(screenOf(turns, out));
      else for (const step of steps.in(turns)) writeStep(step, out);
      await elapse(every, undefined, { signal: stop.signal }).catch(() => {});
    }
  });
  return (await asked) === 'SIGINT' ? EXIT.interrupted : EXIT.ok;
}

async function look(records: Records, limit: number): Promise<TurnOnRecord[]> {
  const ids = await records.turnIds({ limit });
  const turns = await Promise.all(ids.map((id) => records.onRecord(id)));
  return turns.filter((turn) => turn !== undefined);
}

/** Tells the steps that came since the last look; those of the first look are old. */
class NewSteps {
  readonly #seen: Map<string, number>;

  constructor(turns: readonly TurnOnRecord[]) {
    this.#seen = new Map(turns.map(({ turnId, entries }) => [turnId, entries.length]));
  }

  in(turns: readonly TurnOnRecord[]): WatchedStep[] {
    const found = turns.flatMap((turn): WatchedStep[] => {
      const known = this.#seen.get(turn.turnId) ?? 0;
      this.#seen.set(turn.turnId, turn.entries.length);
      if (turn.entries.length === known) return [];
      return replay(turn.entries)
        .steps.slice(known)
        .map(({ event, number, after }) => ({
          at: iso(event?.at ?? turn.startedAt),
          turnId: turn.turnId,
          conversationId: turn.conversationId,
          step: number,
          event: event?.type ?? 'unreadable',
          phase: after.phase,
          outcome: event?.type === 'turn_ended' ? event.ending.outcome : null,
          stopReason: event?.type === 'turn_ended' ? event.ending.reason : null,
        }));
    });
    // What is not looked at any more is not remembered either.
    const ids = new Set(turns.map(({ turnId }) => turnId));
    for (const id of this.#seen.keys()) if (!ids.has(id)) this.#seen.delete(id);
    return found.toSorted((a, b) => a.at.localeCompare(b.at));
  }
}

function writeStep(step: WatchedStep, out: Output): void {
  if (!out.isText) return out.progress(step);
  const { at, conversationId, turnId, event, phase, outcome, stopReason } = step;
  const state = outcome === null ? phase : `${outcome}/${stopReason}`;
  const cells = [clock(Date.parse(at)), conversationId, turnId, event.padEnd(20), state];
  out.write(visible(cells.join('  ')));
}

/** Cursor to the top left, rest of the screen cleared. */
const CLEAR = '\u001b[H\u001b[J';
const ENDED_SHOWN = 8;
/** Of a terminal that does not tell its size. */
const SIZE = { columns: 120, rows: 40 };

function screenOf(turns: readonly TurnOnRecord[], out: Output): string {
  const now = Date.now();
  const columns = process.stdout.columns || SIZE.columns;
  const rows = process.stdout.rows || SIZE.rows;
  const open = turns.filter(({ endedAt }) => endedAt === null);
  const ended = turns.filter(({ endedAt }) => endedAt !== null).slice(0, ENDED_SHOWN);
  // A line that breaks, or one too many, would scroll the screen away.
  const goingOn = open.map((turn) =>
    row(turn, duration(now - turn.startedAt), turn.phase).slice(0, columns),
  );
  const over = ended.map((turn) => {
    const took = duration((turn.endedAt ?? now) - turn.startedAt);
    return row(turn, took, `${turn.outcome}/${turn.reason}`).slice(0, columns);
  });
  const lines = [
    `${out.strong(`${count(open.length, 'turn')} going on`)}  ${clock(now)}`,
    ...['', ...goingOn],
    ...['', out.strong('ended'), ...over],
  ];
  return CLEAR + lines.slice(0, rows - 1).join('\n');
}

function row(turn: TurnOnRecord, took: string, state: string): string {
  const { spent, rounds } = replay(turn.entries).state;
  const cells = [
    turn.conversationId.padEnd(24),
    state.padEnd(28),
    took.padStart(8),
    `${count(rounds.length, 'round')}, ${count(spent.toolCalls, 'call')}, ${dollars(spent.costMicros)}`,
  ];
  return visible(cells.join('  '));
}
