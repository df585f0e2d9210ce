import { setTimeout as elapse } from 'node:timers/promises';
import type { BatchView, Reprocess } from '../producers/reprocess.ts';
import { askedToStop } from './asked-to-stop.ts';
import { EXIT, type ExitCode } from './errors.ts';
import type { Invocation } from './invocation.ts';
import { bar, liveProgress, noProgress, Pace } from './live-progress.ts';
import type { CardView } from './output.ts';
import { batchOf } from './reprocess-connection.ts';
import { visible } from './visible-text.ts';
import { count, day, duration, isoOrNull } from './wording.ts';

/** The JSON of `reprocess status`, and of each step of `reprocess run -o jsonl`. */
export type BatchProgress = {
  batchId: string;
  status: string;
  name: string | null;
  by: string | null;
  reason: string | null;
  hash: string;
  cases: number;
  toRun: number;
  over: number;
  underWay: number;
  /** Of those under way. */
  waitingForPerson: number;
  notStarted: number;
  /** By `outcome/reason` or `skipped:why`. */
  counts: Readonly<Record<string, number>>;
  rate: number;
  stopIf: number | null;
  /** Why it stopped itself. */
  stopWhy: string | null;
  plannedAt: string | null;
  startedAt: string | null;
  endedAt: string | null;
};

export function progressOf(batch: BatchView): BatchProgress {
  const { id, status, hash, cases, toRun, over, waiting, started, counts, rate } = batch;
  return {
    ...{ batchId: id, status, name: batch.name ?? null, by: batch.by ?? null },
    ...{ reason: batch.reason ?? null, hash, cases, toRun, over, waitingForPerson: waiting },
    underWay: Math.max(0, started - over),
    notStarted: Math.max(0, toRun - Math.max(started, over)),
    ...{ counts, rate, stopIf: batch.stopIf ?? null },
    stopWhy: status === 'stopped' ? (batch.stopWhy ?? null) : null,
    plannedAt: isoOrNull(batch.plannedAt),
    startedAt: isoOrNull(batch.startedAt),
    endedAt: isoOrNull(batch.endedAt),
  };
}

export const PROGRESS: CardView<BatchProgress> = { id: (view) => view.batchId, text: progressText };

function progressText(view: BatchProgress): string {
  const { batchId, status, name, by, reason, over, toRun, startedAt, stopWhy, rate, stopIf } = view;
  const who = by === null ? '' : `  "${name}" by ${by}: ${reason}`;
  const limit =
    stopIf === null ? '' : `, stops itself above ${Math.round(stopIf * 100)} % not completed`;
  return [
    `batch ${batchId}  ${status}${who}`,
    ...(stopWhy === null ? [] : [`  stopped itself: ${stopWhy}`]),
    `  ${numbers(over)} of ${count(toRun, 'case')} over${outcomes(view)}`,
    `  ${numbers(view.underWay)} under way, ${numbers(view.waitingForPerson)} of them waiting for a person; ${numbers(view.notStarted)} not started`,
    `  ${count(rate, 'case')} a second at most${limit}`,
    ...(startedAt === null ? [] : [`  started ${day(Date.parse(startedAt))}`]),
    hint(batchId, status),
  ]
    .map(visible)
    .join('\n');
}

function hint(id: string, status: string): string {
  if (status === 'planned') return startHint(id);
  const report = `More: turnkeeper reprocess report ${id}`;
  return ['paused', 'stopped'].includes(status)
    ? `Go on: turnkeeper reprocess resume ${id} --by <you> --reason <why>. ${report}`
    : report;
}

/** What is left to do with a plan. */
export function startHint(id: string): string {
  return `Nothing was started. Start it: turnkeeper reprocess run ${id} --by <you> --name <incident> --reason <why>`;
}

function numbers(value: number): string {
  return value.toLocaleString('en-US');
}

function outcomes({ counts }: BatchProgress): string {
  const list = Object.entries(counts)
    .toSorted(([, a], [, b]) => b - a)
    .map(([name, one]) => `${numbers(one)} ${name}`);
  return list.length === 0 ? '' : `: ${list.join(', ')}`;
}

/** `[####....] 812 of 2,000 · 640 completed, 172 other · 5.1/s · about 3 min left`. */
function line(view: BatchProgress, perSecond: number | undefined): string {
  const { over, toRun, waitingForPerson, status, counts } = view;
  const sum = (chosen: (name: string) => boolean): number =>
    Object.entries(counts).reduce((all, [name, one]) => all + (chosen(name) ? one : 0), 0);
  const completed = sum((name) => name.startsWith('completed/'));
  const skipped = sum((name) => name.startsWith('skipped:'));
  const parts = [
    `${numbers(completed)} completed`,
    `${numbers(skipped)} skipped`,
    `${numbers(over - completed - skipped)} not completed`,
    `${numbers(waitingForPerson)} waiting for a person`,
  ];
  const pace =
    perSecond === undefined || over >= toRun
      ? ''
      : ` · ${perSecond.toFixed(1)}/s · about ${duration(((toRun - over) * 1_000) / perSecond)} left`;
  const state = status === 'running' ? '' : ` · ${status}`;
  return `${bar(toRun === 0 ? 1 : over / toRun)} ${numbers(over)} of ${numbers(toRun)} · ${parts.join(', ')}${pace}${state}`;
}

const LOOK_MS = 500;

/**
 * Shows a batch until it runs no more or waits only for people. It needs nobody to look on: Ctrl-C ends the looking, and says
 * so.
 */
export async function watchBatch(
  { out }: Invocation,
  reprocess: Reprocess,
  id: string,
): Promise<ExitCode> {
  const stop = new AbortController();
  const asked = askedToStop().then((signal) => {
    stop.abort();
    return signal;
  });
  const progress = out.isText ? await liveProgress((text) => out.note(text)) : noProgress;
  const pace = new Pace();
  let view = progressOf(await batchOf(reprocess, id));
  let told = '';
  while (!stop.signal.aborted && goesOn(view)) {
    progress.show(visible(line(view, pace.look(view.over, Date.now()))));
    const json = JSON.stringify(view);
    if (json !== told) out.progress({ type: 'progress', ...view });
    told = json;
    await elapse(LOOK_MS, undefined, { signal: stop.signal }).catch(() => {});
    view = progressOf(await batchOf(reprocess, id));
  }
  await progress.end(visible(line(view, undefined)));
  if (stop.signal.aborted && goesOn(view)) {
    out.note(
      `The batch goes on without this command. Look again: turnkeeper reprocess status ${id} --watch; hold it: turnkeeper reprocess pause ${id}`,
    );
    return (await asked) === 'SIGINT' ? EXIT.interrupted : EXIT.ok;
  }
  return finish(out, view);
}

function goesOn({ status, underWay, waitingForPerson, notStarted }: BatchProgress): boolean {
  if (status === 'running') return notStarted > 0 || underWay > waitingForPerson || underWay === 0;
  // What was started before it was held or ended comes to its end.
  return ['paused', 'stopped', 'aborted'].includes(status) && underWay > waitingForPerson;
}

function finish(out: Invocation['out'], view: BatchProgress): ExitCode {
  const clean =
    view.status === 'done' &&
    Object.keys(view.counts).every((name) => name.startsWith('completed/'));
  if (out.format === 'jsonl') {
    const result = clean ? 'success' : 'partial';
    out.progress({ type: 'result', result, ...view });
  } else {
    out.card(view, PROGRESS);
  }
  if (view.waitingForPerson > 0) {
    out.note(
      `Waiting for a person: ${count(view.waitingForPerson, 'case')}. See turnkeeper approvals list`,
    );
  }
  return clean ? EXIT.ok : EXIT.findings;
}
