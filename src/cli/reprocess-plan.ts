import { InvalidArgumentError, type Command } from 'commander';
import { OUTCOMES, STOP_REASONS } from '../contracts/index.ts';
import type { PlanSummary } from '../producers/batch-summary.ts';
import type { BatchView, Reprocess, ReprocessFilter } from '../producers/reprocess.ts';
import type { PlannedCase } from '../store/batches.ts';
import type { Invocation } from './invocation.ts';
import { liveProgress, noProgress } from './live-progress.ts';
import { batchOf, withReprocess } from './reprocess-connection.ts';
import { startHint } from './reprocess-watch.ts';
import { RowWriter } from './row-writer.ts';
import { visible } from './visible-text.ts';
import { wholeNumber } from './whole-number.ts';
import { count, day, dollars, duration } from './wording.ts';

export type FilterOptions = {
  outcome?: string[];
  stopReason?: string[];
  tool?: string[];
  source?: string[];
  skill?: string[];
  model?: string[];
  conversation?: string[];
  endedAfter?: number;
  endedBefore?: number;
  limit?: number;
};

/** The options that choose turns. What is left out does not matter; several values of one are alternatives. */
export function filterOptions(command: Command): Command {
  return command
    .option('--outcome <name...>', `how they ended: ${OUTCOMES.join(', ')}`, oneOf(OUTCOMES))
    .option('--stop-reason <name...>', 'why they stopped, such as model_escalated', oneOf(REASONS))
    .option('--tool <name...>', 'turns that called, or wanted to call, one of these')
    .option('--source <name...>', 'ticketing systems')
    .option('--skill <name...>', 'turns that loaded one of these procedures')
    .option('--model <name...>', 'turns one of these models answered in')
    .option('--conversation <id...>', 'such as zendesk/4482')
    .option('--ended-after <time>', 'ISO 8601, such as 2026-11-30T14:00Z', readTime)
    .option('--ended-before <time>', 'ISO 8601', readTime)
    .option('--limit <n>', 'cases that run, at most; the oldest first', wholeNumber(1_000_000));
}

const REASONS = Object.values(STOP_REASONS).flat();

function oneOf(names: readonly string[]) {
  return (name: string, before: string[] | undefined): string[] => {
    if (names.includes(name)) return [...(before ?? []), name];
    throw new InvalidArgumentError(`It must be one of ${names.join(', ')}.`);
  };
}

function readTime(text: string): number {
  const at = Date.parse(text);
  if (/^\d{4}-\d{2}-\d{2}/.test(text) && !Number.isNaN(at)) return at;
  throw new InvalidArgumentError('It must be a time such as 2026-11-30 or 2026-11-30T14:00Z.');
}

/** Selects, judges, freezes; starts nothing. */
export async function plan(invocation: Invocation, options: FilterOptions): Promise<void> {
  const { settings, out } = invocation;
  await withReprocess(settings, async ({ reprocess }) => {
    const progress = out.isText ? await liveProgress((line) => out.note(line)) : noProgress;
    const batch = await reprocess.plan(filterOf(options), {}, (looked) =>
      progress.show(`${count(looked, 'turn')} looked at`),
    );
    await progress.end(`${count(batch.cases, 'case')} found`);
    await showPlan(invocation, reprocess, batch);
  });
}

function filterOf({
  stopReason,
  endedAfter,
  endedBefore,
  ...rest
}: FilterOptions): ReprocessFilter {
  return { ...rest, reason: stopReason, from: endedAfter, to: endedBefore };
}

/** @throws CommandError no such batch (3) */
export async function show(invocation: Invocation, id: string): Promise<void> {
  await withReprocess(invocation.settings, async ({ reprocess }) => {
    await showPlan(invocation, reprocess, await batchOf(reprocess, id));
  });
}

async function showPlan(
  { out }: Invocation,
  reprocess: Reprocess,
  batch: BatchView,
): Promise<void> {
  if (out.format === 'id') return out.write(batch.id);
  const summary = await reprocess.summary(batch.id);
  if (out.isText) {
    const named = batch.cases <= NAMED ? await reprocess.batches.cases(batch.id, 0, NAMED) : [];
    return out.write([...named.map(caseLine), planText(batch, summary)].join('\n'));
  }
  const writer = new RowWriter<PlannedCase>(out, {
    head: { plan: batch },
    name: 'cases',
    id: ({ turnId }) => turnId,
    cells,
  });
  for await (const page of reprocess.batches.pages(batch.id, 200)) await writer.write(page);
  writer.end({ summary });
}

/** Cases up to which a table names each one. */
const NAMED = 20;
const VERDICTS = { run: 'will run', skip: 'will skip', person: 'needs a person' } as const;

/** `desk/c1  will run  escalated/model_escalated  would be new: refund order:1`. */
function caseLine({
  conversationId,
  turnId,
  verdict,
  why,
  before,
  open,
  done,
}: PlannedCase): string {
  const effects = (title: string, list: readonly { tool: string; resource: string }[]): string[] =>
    list.length === 0
      ? []
      : [`${title}: ${list.map(({ tool, resource }) => `${tool} ${resource}`).join(', ')}`];
  const parts = [
    ...[conversationId, turnId, VERDICTS[verdict], `${before.outcome}/${before.reason}`],
    ...(why === undefined ? [] : [why]),
    ...(verdict === 'run' ? effects('would be new', open) : []),
    ...effects('on record', done),
  ];
  return visible(parts.join('  '));
}

function cells(one: PlannedCase): Record<string, unknown> {
  const { turnId, conversationId, verdict, why, before, done, open, costMicros, durationMs } = one;
  return {
    ...{ turnId, conversationId, verdict, why, outcome: before.outcome, stopReason: before.reason },
    wouldBeNew: open.map(({ tool, resource }) => `${tool} ${resource}`).join('; '),
    onRecord: done.map(({ tool, resource }) => `${tool} ${resource}`).join('; '),
    ...{ costMicros, durationMs },
  };
}

export function planText(batch: BatchView, summary: PlanSummary): string {
  const { id, hash, cases, plannedAt, status } = batch;
  const next =
    status === 'planned' ? startHint(id) : `It is ${status}: turnkeeper reprocess status ${id}`;
  const none =
    cases === 0 ? '0 cases match' : `${count(cases, 'case')} match and none of them would run`;
  return [
    `plan ${id}  of ${day(plannedAt)}`,
    `  hash            ${hash}`,
    `  cases           ${count(cases, 'case')}`,
    ...groups('will run', summary.run, {}),
    ...groups('will skip', total(summary.skip), summary.skip),
    ...groups('needs a person', total(summary.person), summary.person),
    ...(summary.run === 0 ? [] : effectLines(summary)),
    ...(summary.run === 0 ? [] : [estimate(batch, summary)]),
    ...(cases === 0 ? [] : [`Case by case: turnkeeper reprocess show ${id} -o csv`]),
    summary.run === 0 ? `${none}. Nothing will start.` : next,
  ]
    .map(visible)
    .join('\n');
}

function total(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((sum, one) => sum + one, 0);
}

function groups(title: string, number: number, counts: Readonly<Record<string, number>>): string[] {
  const lines = Object.entries(counts)
    .toSorted(([, a], [, b]) => b - a)
    .map(([name, one]) => `${' '.repeat(20)}${one.toLocaleString('en-US')}  ${name}`);
  return [`  ${title.padEnd(14)}  ${number.toLocaleString('en-US')}`, ...lines];
}

function effectLines({ wouldBeNew, onRecord }: PlanSummary): string[] {
  return [
    'Effects of the cases that will run',
    ...groups('would be new', total(wouldBeNew), wouldBeNew),
    ...groups('on record', total(onRecord), onRecord),
    '  New: wanted then and not done. On record: done, and will not happen again. What a case does that had not',
    '  got as far as wanting something is not known before.',
  ];
}

function estimate({ rate }: BatchView, summary: PlanSummary): string {
  const { run, costMicros, totalMs } = summary;
  const took = duration((run * 1_000) / rate + totalMs / run);
  return `Estimate: ${dollars(costMicros)} by what they cost then; about ${took} at ${count(rate, 'case')} a second`;
}
