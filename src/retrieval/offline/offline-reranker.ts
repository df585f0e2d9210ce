import { readFileSync } from 'node:fs';
import { z } from 'zod';
import type { Reranker } from '../ports.ts';
import { EVIDENCE, evidenceOf, type Evidence } from './evidence.ts';
import { shippedWordVectors, type WordVectors } from './word-vectors.ts';

/** What each kind of evidence counts; made by scripts/fit-offline-reranker.ts. */
const weightsSchema = z.object({
  date: z.iso.date(),
  fittedOn: z.string(),
  intercept: z.number(),
  weights: z.record(z.enum(EVIDENCE), z.number()),
});
export type OfflineWeights = z.infer<typeof weightsSchema>;

export function shippedWeights(): OfflineWeights {
  const file = new URL('reranker-weights.json', import.meta.url);
  return weightsSchema.parse(JSON.parse(readFileSync(file, 'utf8')));
}

/**
 * Scores passages without a key, a network or a model server: a weighted sum of lexical and vector evidence (`EVIDENCE`).
 * It answers the log odds that the passage answers the question; English only.
 */
export function offlineReranker(
  options: { weights?: OfflineWeights; vectors?: WordVectors } = {},
): Reranker {
  const { weights = shippedWeights(), vectors = shippedWordVectors() } = options;
  return {
    name: 'offline/evidence',
    rerank: (question, recall) =>
      Promise.resolve(
        evidenceOf(question, recall, vectors).map((evidence) => weigh(evidence, weights)),
      ),
  };
}

export function weigh(evidence: Evidence, { intercept, weights }: OfflineWeights): number {
  return EVIDENCE.reduce((sum, name) => sum + weights[name] * evidence[name], intercept);
}
