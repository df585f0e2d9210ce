import { FAULT_KINDS } from './faults.ts';
import { PHASES_HIT } from './phases.ts';
import type { RunResult } from './run.ts';

const SHOWN = 12;

/** A run for a reader: what was thrown at it, how often it hit what, and what did not hold. */
export function describeRun(result: RunResult): string {
  const { settings, findings, hits, messages, answered, retries, seconds, complaints } = result;
  const width = Math.max(...FAULT_KINDS.map((kind) => kind.length));
  const columns = ['times', ...PHASES_HIT];
  const head = `${' '.repeat(width)}  ${columns.map((name) => name.padStart(name.length + 2)).join('')}`;
  const rows = FAULT_KINDS.map((kind) => {
    const cells = [hits.faults.get(kind) ?? 0, ...PHASES_HIT.map((phase) => hits.of(kind, phase))];
    const texts = cells.map((cell, index) =>
      String(cell).padStart((columns[index] ?? '').length + 2),
    );
    return `${kind.padEnd(width)}  ${texts.join('')}`;
  });
  const byRule = Map.groupBy(findings, ({ rule }) => rule);
  return [
    `seed ${settings.seed}: ${answered} of ${messages} messages of ${settings.conversations} conversations answered in ` +
      `${seconds.toFixed(0)} s by ${settings.workers} workers, order service ${settings.keys === 'on' ? 'with' : 'without'} idempotency keys`,
    `${hits.total} faults; hand-overs that had to be repeated: ${retries}`,
    head,
    ...rows,
    ...[...complaints]
      .toSorted((a, b) => b[1] - a[1])
      .slice(0, SHOWN)
      .map(([text, count]) => `  log ${String(count).padStart(5)} x ${text}`),
    ...[...byRule].flatMap(([rule, found]) => [
      `BROKEN: ${rule} (${found.length})`,
      ...found.slice(0, SHOWN).map(({ what }) => `  - ${what}`),
    ]),
    findings.length === 0 ? 'all promises held' : `${findings.length} findings`,
  ].join('\n');
}
