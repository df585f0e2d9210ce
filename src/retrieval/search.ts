import { InvalidInputError } from '../contracts/index.ts';
import type { Calibration } from './calibration.ts';
import { RECALLED } from './recall.ts';
import type { Embedder, Gate, Ranked, Reranker, Retriever, SearchStep } from './ports.ts';

export type SearchParts = {
  retriever: Retriever;
  reranker: Reranker;
  /** From the reranker's scale to 0 to 1, keeping the order. */
  scale: (raw: number) => number;
  gate: Gate;
  /** Sees every step; must not throw. */
  observe?: (step: SearchStep) => void;
};

export type SearchResult = {
  /** Best first; empty when nothing passed the gate. */
  passages: readonly Ranked[];
  /** All that were recalled and reranked, best first. */
  ranked: readonly Ranked[];
  costMicros: number;
};

/** Recall, then precision, then the gate. Parts that fail throw: no answer is made up for them. */
export async function search(
  { retriever, reranker, scale, gate, observe }: SearchParts,
  question: string,
  signal?: AbortSignal,
): Promise<SearchResult> {
  const timed = timer(observe);
  const recall = await timed('retriever', () => retriever.retrieve(question, RECALLED, signal));
  const { candidates, costMicros } = recall.value;
  observe?.({
    ...{ part: 'retriever', durationMs: recall.durationMs, candidates: candidates.length },
    costMicros,
  });
  const scores = await timed('reranker', async () =>
    candidates.length === 0 ? [] : reranker.rerank(question, recall.value, signal),
  );
  const ranked = candidates
    .map((candidate, at): Ranked => {
      const raw = scores.value[at];
      return { ...candidate, rerankScore: raw === undefined ? 0 : scale(raw) };
    })
    .toSorted((a, b) => b.rerankScore - a.rerankScore);
  const best = ranked[0]?.rerankScore ?? null;
  observe?.({ part: 'reranker', durationMs: scores.durationMs, name: reranker.name, best });
  const passages = gate.admit(ranked);
  const verdict = passages.length > 0 ? 'found' : 'no_result';
  observe?.({ part: 'gate', verdict, best, passages: passages.length });
  return { passages, ranked, costMicros };
}

/** @throws InvalidInputError when the calibration was made for other parts */
export function requireCalibration(
  calibration: Calibration,
  embedder: Embedder,
  reranker: Reranker,
): void {
  if (calibration.embedder === embedder.model && calibration.reranker === reranker.name) return;
  throw new InvalidInputError(
    'calibration',
    `${calibration.embedder} and ${calibration.reranker}`,
    `must be made for ${embedder.model} and ${reranker.name}: turnkeeper kb eval <pairs> --calibrate <file>`,
  );
}

/** Runs a part of a search and says how long it took; one that throws is observed before the search ends with it. */
function timer(observe: SearchParts['observe']) {
  return async <T>(
    of: 'retriever' | 'reranker',
    work: () => Promise<T>,
  ): Promise<{ value: T; durationMs: number }> => {
    const start = performance.now();
    try {
      const value = await work();
      return { value, durationMs: performance.now() - start };
    } catch (error) {
      observe?.({ part: 'failure', of, durationMs: performance.now() - start });
      throw error;
    }
  };
}
