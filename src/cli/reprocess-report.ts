import {
  addCase,
  isClean,
  noTotals,
  type CaseReport,
  type ReportedEffect,
  type ReportTotals,
} from '../producers/batch-report.ts';
import { EXIT, type ExitCode } from './errors.ts';
import type { Invocation } from './invocation.ts';
import type { Output } from './output.ts';
import { batchOf, withReprocess } from './reprocess-connection.ts';
import { progressOf, type BatchProgress } from './reprocess-watch.ts';
import { RowWriter } from './row-writer.ts';
import { visible } from './visible-text.ts';
import { count, dollars } from './wording.ts';

/** Cases a table names one by one. */
const NAMED = 20;

/**
 * What became of every case, beside what its plan had promised. Ends with 6 when something is left to look at.
 *
 * @throws CommandError no such batch (3)
 */
export async function report({ settings, out }: Invocation, id: string): Promise<ExitCode> {
  return withReprocess(settings, async ({ reprocess }) => {
    const batch = await batchOf(reprocess, id);
    const view = progressOf(batch);
    const totals = noTotals();
    const noteworthy: Noteworthy = { named: [], more: 0 };
    const writer = new RowWriter<CaseReport>(out, {
      head: { batch: view },
      name: 'cases',
      id: ({ turnId }) => turnId,
      cells,
    });
    for await (const page of reprocess.report(batch)) {
      for (const one of page) {
        addCase(totals, one);
        if (!isNoteworthy(one)) continue;
        if (noteworthy.named.length < NAMED) noteworthy.named.push(one);
        else noteworthy.more += 1;
      }
      await writer.write(page);
    }
    const clean = view.status === 'done' && isClean(totals);
    writer.end({ totals, result: clean ? 'success' : 'partial' });
    if (out.isText) out.write(reportText(view, totals, noteworthy, out));
    return clean ? EXIT.ok : EXIT.findings;
  });
}

function cells(one: CaseReport): Record<string, unknown> {
  const { turnId, conversationId, state, why, before, after, newTurnId, costMicros } = one;
  const ids = (effects: readonly ReportedEffect[]): string =>
    effects.map(({ operation }) => operation).join(' ');
  return {
    ...{ turnId, conversationId, state, why },
    ...{ outcomeBefore: before.outcome, stopReasonBefore: before.reason },
    ...{ outcomeAfter: after?.outcome, stopReasonAfter: after?.reason, newTurnId },
    ...{ costMicros, durationMs: one.durationMs },
    onRecord: ids(one.onRecord),
    repeated: ids(one.repeated),
    happened: ids(one.happened),
    notHappened: ids(one.notHappened),
    unforeseen: ids(one.unforeseen),
  };
}

/** What a table names: cases somebody should look at, and how many there are besides. */
type Noteworthy = { named: CaseReport[]; more: number };

function isNoteworthy({ repeated, state, after }: CaseReport): boolean {
  return repeated.length > 0 || (state === 'ran' && after?.outcome !== 'completed');
}

function reportText(
  view: BatchProgress,
  totals: ReportTotals,
  { named, more }: Noteworthy,
  out: Output,
): string {
  const { states, effects, changes, whys, costMicros, cases } = totals;
  const who = view.by === null ? '' : `  "${view.name}" by ${view.by}: ${view.reason}`;
  const lines = [
    `batch ${view.batchId}  ${view.status}${who}`,
    ...(view.stopWhy === null ? [] : [`  stopped itself: ${view.stopWhy}`]),
    `${count(cases, 'case')}: ${states.ran} ran, ${states.skipped} skipped, ${states.under_way} under way, ${states.not_started} not started, ${states.not_run} not to be run`,
    ...changes
      .toSorted((a, b) => b.cases - a.cases)
      .map(
        (one) =>
          `  ${one.before.padEnd(34)} → ${one.after.padEnd(34)} ${String(one.cases).padStart(7)}  ${dollars(one.costMicros)}`,
      ),
    ...Object.entries(whys)
      .toSorted(([, a], [, b]) => b - a)
      .slice(0, NAMED)
      .map(([why, number]) => `  ${String(number).padStart(7)}  ${why}`),
    `Cost ${dollars(costMicros)}`,
    effectsText(effects),
  ].map(visible);
  const repeats = `${effects.repeated} repeated`;
  lines.push(effects.repeated === 0 ? out.mark('good', repeats) : out.mark('bad', repeats));
  for (const one of named) {
    const after = one.after === null ? one.state : `${one.after.outcome}/${one.after.reason}`;
    const again = one.repeated
      .map(({ tool, resource }) => `${tool} on ${resource} AGAIN`)
      .join(', ');
    const cells = [one.conversationId, one.newTurnId ?? one.turnId, after, again];
    lines.push(visible(`  ${cells.filter((cell) => cell !== '').join('  ')}`));
  }
  if (more > 0) lines.push(`  and ${more.toLocaleString('en-US')} more`);
  lines.push(`Case by case: turnkeeper reprocess report ${view.batchId} -o csv`);
  return lines.join('\n');
}

function effectsText({
  onRecord,
  happened,
  notHappened,
  unforeseen,
}: ReportTotals['effects']): string {
  const promised = happened + notHappened;
  return [
    `Effects: ${onRecord} on record before`,
    ...(promised === 0 ? [] : [`${happened} of ${promised} that would be new happened`]),
    ...(unforeseen === 0 ? [] : [`${unforeseen} more than the plan could know of`]),
  ].join(', ');
}
