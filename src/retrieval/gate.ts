import type { Gate } from './ports.ts';

/** Below it, nothing is shown: no result beats a wrong one. */
export const GATE_THRESHOLD = 0.72;
/** Most passages a model is shown. */
export const TOP_K = 5;

/** Looks at the best score alone: if it reaches the threshold, the best `topK` go through, else none. */
export function gate(threshold = GATE_THRESHOLD, topK = TOP_K): Gate {
  return {
    threshold,
    admit: (ranked) => ((ranked[0]?.rerankScore ?? 0) >= threshold ? ranked.slice(0, topK) : []),
  };
}
