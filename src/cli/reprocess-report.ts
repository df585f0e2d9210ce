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
    const named: CaseReport[] = [];
    const writer = new RowWriter<CaseReport>(out, {
      head: { batch: view },
      name: 'cases',
      id: ({ turnId }) => turnId,
      cells,
    });
    for await (const page of reprocess.report(batch)) {
      for (const one of page) {
        addCase(totals, one);
        if (named.length < NAMED && isNoteworthy(one)) named.push(one);
      }
      await writer.write(page);
    }
    const clean = view.status === 'done' && isClean(totals);
    writer.end({ totals, result: clean ? 'success' : 'partial' });
    if (out.isText) out.write(reportText(view, totals, named, out));
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

function isNoteworthy({ repeated, state, after }: CaseReport): boolean {
  return repeated.length > 0 || (state === 'ran' && after?.outcome !== 'completed');
}

function reportText(
  view: BatchProgress,
  totals: ReportTotals,
  named: readonly CaseReport[],
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
    `Effects: ${effects.onRecord} on record before, ${effects.happened} of ${effects.happened + effects.notHappened} that would be new happened, ${effects.unforeseen} more that nobody had foreseen`,
  ].map(visible);
  const repeats = `${effects.repeated} repeated`;
  lines.push(effects.repeated === 0 ? out.mark('good', repeats) : out.mark('bad', repeats));
  for (const one of named) {
    const after = one.after === null ? one.state : `${one.after.outcome}/${one.after.reason}`;
    const again = one.repeated
      .map(({ tool, resource }) => `${tool} on ${resource} AGAIN`)
      .join(', ');
    lines.push(
      visible(`  ${one.conversationId}  ${one.newTurnId ?? one.turnId}  ${after}  ${again}`),
    );
  }
  lines.push(`Case by case: turnkeeper reprocess report ${view.batchId} -o csv`);
  return lines.join('\n');
}
