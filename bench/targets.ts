import type { ResultName } from './measure/throughput.ts';
import type { Report } from './report.ts';

/** Least ratios to raw no-op jobs of the same run. */
export const LEAST_RATIO: Partial<Record<ResultName, number>> = {
  'read-10000x1': 0.3,
  'read-1000x10': 0.6,
  'read-10x1000': 0.4,
  'write-1000x10': 0.25,
  'park-200ms': 0.1,
};
export const MOST_ROUND_TRIPS = 8;
export const MOST_BYTES_PARKED = 6 * 1_024;
/** Of the throughput at the smallest backlog, at the largest one. */
export const LEAST_SHARE_AT_BACKLOG = 0.8;
export const MOST_RECOVERY_P99_MS = 5_000;

/** The figures that are not where they should be, each in one line. */
export function missed(report: Report): string[] {
  const { results, roundTripsPerReadTurn, bytesPerParkedTurn, recovery } = report;
  const share = shareAtBacklog(report.backlog);
  return [
    ...results.flatMap(({ name, ratioToRaw }) => {
      const least = LEAST_RATIO[name] ?? 0;
      return ratioToRaw < least
        ? [`${name}: ratio ${ratioToRaw}, should be at least ${least}`]
        : [];
    }),
    ...(roundTripsPerReadTurn > MOST_ROUND_TRIPS
      ? [`commands per read turn: ${roundTripsPerReadTurn}, should be at most ${MOST_ROUND_TRIPS}`]
      : []),
    ...(bytesPerParkedTurn > MOST_BYTES_PARKED
      ? [`bytes per parked turn: ${bytesPerParkedTurn}, should be at most ${MOST_BYTES_PARKED}`]
      : []),
    ...(share < LEAST_SHARE_AT_BACKLOG
      ? [`throughput at the largest backlog: ${percent(share)}, should be at least 80 %`]
      : []),
    ...(recovery.p99Ms > MOST_RECOVERY_P99_MS
      ? [`recovery p99: ${recovery.p99Ms} ms, should be at most ${MOST_RECOVERY_P99_MS}`]
      : []),
  ];
}

/** Throughput at the largest backlog as a share of that at the smallest. */
export function shareAtBacklog(backlog: Report['backlog']): number {
  const sizes = Object.keys(backlog)
    .map(Number)
    .toSorted((a, b) => a - b);
  const smallest = backlog[String(sizes[0])] ?? NaN;
  return (backlog[String(sizes.at(-1))] ?? NaN) / smallest;
}

export function percent(share: number): string {
  return `${Math.round(share * 100)} %`;
}
