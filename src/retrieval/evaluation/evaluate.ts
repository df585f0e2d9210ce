import { calibrate, type Calibration, type Observed } from '../calibration.ts';
import { GATE_THRESHOLD, TOP_K } from '../gate.ts';
import type { Ranked } from '../ports.ts';
import type { Pair, Split } from './pairs.ts';

export type Share = { of: number; count: number; share: number };

/** How the searches of one half came out. Shares are 0 to 1. */
export type Figures = {
  /** Questions whose right document is among the 20 that are recalled. */
  recallAt20: Share;
  /** Mean of 1 / rank of the right document's first passage, 0 where it is missing. */
  meanReciprocalRank: number;
  /** Answerable questions that pass the gate with the right document among the five that are shown. */
  answered: Share;
  /** Questions that pass the gate although no document answers them. */
  outOfScopePassed: Share;
  /** Of all that pass the gate, those that show the right document. */
  precisionOfGate: Share;
};

export type Asked = { pair: Pair; ranked: readonly Ranked[] };

export function figuresOf(asked: readonly Asked[], split: Split): Figures {
  const half = asked.filter(({ pair }) => pair.split === split);
  const inScope = half.filter(({ pair }) => pair.document !== null);
  const outside = half.filter(({ pair }) => pair.document === null);
  const passed = half.filter(passes);
  const ranks = inScope.map(rankOf);
  const mrr = ranks.reduce((sum, rank) => sum + (rank === 0 ? 0 : 1 / rank), 0);
  return {
    recallAt20: share(ranks.filter((rank) => rank > 0).length, inScope.length),
    meanReciprocalRank: round(mrr / (inScope.length || 1)),
    answered: share(inScope.filter((one) => passes(one) && isShown(one)).length, inScope.length),
    outOfScopePassed: share(outside.filter(passes).length, outside.length),
    precisionOfGate: share(passed.filter(isShown).length, passed.length),
  };
}

/** Calibrates on the tuning half. `ranked` must carry raw scores. */
export function calibrationOf(
  asked: readonly Asked[],
  parts: Pick<Calibration, 'embedder' | 'reranker' | 'date' | 'data'>,
): Calibration {
  const observed = asked
    .filter(({ pair, ranked }) => pair.split === 'tuning' && ranked.length > 0)
    .map((one): Observed => {
      const best = one.ranked[0]?.rerankScore ?? 0;
      return { best, answerable: one.pair.document !== null, right: isShown(one) };
    });
  return { ...parts, ...calibrate(observed) };
}

function passes({ ranked }: Asked): boolean {
  return (ranked[0]?.rerankScore ?? 0) >= GATE_THRESHOLD;
}

function isShown({ pair, ranked }: Asked): boolean {
  return ranked.slice(0, TOP_K).some(({ documentId }) => documentId === pair.document);
}

/** From 1; 0 where the right document is missing. */
function rankOf({ pair, ranked }: Asked): number {
  return ranked.findIndex(({ documentId }) => documentId === pair.document) + 1;
}

function share(count: number, of: number): Share {
  return { of, count, share: round(count / (of || 1)) };
}

function round(value: number): number {
  return Number(value.toFixed(4));
}
