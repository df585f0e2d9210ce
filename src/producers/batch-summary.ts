import type { PlannedCase } from '../store/batches.ts';

/** The plan in numbers: what would be run, what would not and why, and what it would do. */
export type PlanSummary = {
  run: number;
  skip: Record<string, number>;
  person: Record<string, number>;
  /** Of the cases that would run, by tool. */
  wouldBeNew: Record<string, number>;
  onRecord: Record<string, number>;
  /** What these cases cost when they ran last. Micro-dollars. */
  costMicros: number;
  /** The longest and the sum of how long they took then. Milliseconds. */
  longestMs: number;
  totalMs: number;
};

export async function summarise(
  cases: AsyncIterable<readonly PlannedCase[]>,
): Promise<PlanSummary> {
  const sum: PlanSummary = {
    ...{ run: 0, skip: {}, person: {}, wouldBeNew: {}, onRecord: {} },
    ...{ costMicros: 0, longestMs: 0, totalMs: 0 },
  };
  for await (const page of cases) for (const one of page) add(sum, one);
  return sum;
}

function add(sum: PlanSummary, one: PlannedCase): void {
  if (one.verdict !== 'run') {
    count(sum[one.verdict], one.group ?? one.why ?? 'no reason');
    return;
  }
  sum.run += 1;
  sum.costMicros += one.costMicros;
  sum.totalMs += one.durationMs;
  sum.longestMs = Math.max(sum.longestMs, one.durationMs);
  for (const { tool } of one.open) count(sum.wouldBeNew, tool);
  for (const { tool } of one.done) count(sum.onRecord, tool);
}

function count(counts: Record<string, number>, name: string): void {
  counts[name] = (counts[name] ?? 0) + 1;
}
