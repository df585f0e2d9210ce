import type { Scored } from './ports.ts';

/** Candidates that are recalled and reranked. */
export const RECALLED = 20;

/** Dampens the first ranks of each list, as is usual for reciprocal rank fusion. */
const DAMPING = 60;

/**
 * Joins lists of different scales: a chunk counts by its ranks, not by its scores. Best first, ties by id.
 *
 * @param lists each best first
 */
export function joinRanks(lists: readonly (readonly Scored[])[], count: number): string[] {
  const weight = new Map<string, number>();
  for (const list of lists) {
    list.forEach(({ chunkId }, rank) => {
      weight.set(chunkId, (weight.get(chunkId) ?? 0) + 1 / (DAMPING + rank));
    });
  }
  return [...weight]
    .toSorted(([a, left], [b, right]) => right - left || (a < b ? -1 : 1))
    .slice(0, count)
    .map(([chunkId]) => chunkId);
}
