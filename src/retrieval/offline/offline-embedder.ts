import { hash } from 'node:crypto';
import type { Embedder } from '../ports.ts';
import { wordsOf } from '../words.ts';
import { normalised, shippedWordVectors, wordWeight, type WordVectors } from './word-vectors.ts';

/** Characters of a text that are looked at; behind them nothing is new. */
const MOST_CHARACTERS = 20_000;

/**
 * Embeds without a key, a network or a model server: the mean of the words' static vectors, frequent words counting
 * little, the direction all sentences share taken out. It knows English words and the words both sides spell alike; it
 * does not know word order or negation.
 */
export function offlineEmbedder(vectors: WordVectors = shippedWordVectors()): Embedder {
  return {
    model: 'offline/wink-sg-100d-40k',
    dimension: vectors.dimension,
    batchSize: 256,
    embed: (texts) =>
      Promise.resolve({
        vectors: texts.map((text) => sentenceVector(text, vectors)),
        tokens: 0,
        costMicros: 0,
      }),
  };
}

export function sentenceVector(text: string, vectors: WordVectors): Float32Array {
  const sum = new Float32Array(vectors.dimension);
  for (const word of wordsOf(text.slice(0, MOST_CHARACTERS))) {
    const { vector, weight } = wordVector(word, vectors);
    for (let at = 0; at < sum.length; at += 1) {
      sum[at] = (sum[at] ?? 0) + weight * (vector[at] ?? 0);
    }
  }
  return normalised(sum);
}

/** An unknown word gets a direction of its own, the same wherever it stands: it is near to itself and to nothing else. */
export function wordVector(
  word: string,
  vectors: WordVectors,
): { vector: Float32Array; weight: number } {
  const rank = vectors.ranks.get(word);
  if (rank !== undefined) return { vector: vectors.vector(rank), weight: wordWeight(rank) };
  const bytes = hash('shake256', word, {
    outputEncoding: 'buffer',
    outputLength: vectors.dimension,
  });
  const vector = Float32Array.from(bytes, (byte) => byte - 127.5);
  return { vector: normalised(vector), weight: 1 };
}
