import { readFileSync } from 'node:fs';

/** Words kept, the most frequent first. */
export const WORD_COUNT = 40_000;

/** The distilled static vectors: one byte a number and one scale a word. */
export type WordVectors = {
  /** Package and version they were made from. */
  source: string;
  dimension: number;
  /** Word to its rank by frequency, from 0. */
  ranks: ReadonlyMap<string, number>;
  /** Unit vector of a word, the direction common to all sentences taken out. */
  vector(rank: number): Float32Array;
  /** The direction all sentences share, of length one. */
  common: Float32Array;
};

type Source = {
  source: string;
  words: readonly string[];
  rows: readonly Float32Array[];
  common: Float32Array;
};

/** How much a word says, from 0 to 1: frequent words little. */
export function wordWeight(rank: number): number {
  return 0.001 / (0.001 + shareAt(rank));
}

/** Share of a word in running English; a word that is not among the frequent ones has that of the last. */
export function wordShare(word: string, vectors: WordVectors): number {
  return shareAt(vectors.ranks.get(word) ?? WORD_COUNT);
}

/** By Zipf's law. */
function shareAt(rank: number): number {
  return 1 / ((rank + 3) * 12);
}

/** Layout: length of the head (u32), head as JSON, common direction and scales (f32), then the rows (i8). */
export function encodeWordVectors({ source, words, rows, common }: Source): Uint8Array {
  const dimension = common.length;
  const head = JSON.stringify({ source, dimension, words: words.join('\n') });
  // A multiple of four, so that the floats behind it are aligned.
  const bytes = Buffer.from(head + ' '.repeat((4 - (Buffer.byteLength(head) % 4)) % 4));
  const file = new Uint8Array(
    4 + bytes.length + 4 * (dimension + rows.length) + dimension * rows.length,
  );
  new DataView(file.buffer).setUint32(0, bytes.length, true);
  file.set(bytes, 4);
  const floats = new Float32Array(file.buffer, 4 + bytes.length, dimension + rows.length);
  const numbers = new Int8Array(file.buffer, floats.byteOffset + floats.byteLength);
  floats.set(common);
  rows.forEach((row, rank) => {
    const scale = row.reduce((most, value) => Math.max(most, Math.abs(value)), 0) / 127;
    floats[dimension + rank] = scale;
    row.forEach((value, at) => {
      numbers[rank * dimension + at] = scale === 0 ? 0 : Math.round(value / scale);
    });
  });
  return file;
}

export function decodeWordVectors(file: Uint8Array): WordVectors {
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  const headLength = view.getUint32(0, true);
  const { source, dimension, words } = JSON.parse(
    new TextDecoder().decode(file.subarray(4, 4 + headLength)),
  ) as { source: string; dimension: number; words: string };
  const ranks = new Map(words.split('\n').map((word, rank) => [word, rank]));
  const at = 4 + headLength;
  const float = (index: number): number => view.getFloat32(at + 4 * index, true);
  const common = Float32Array.from({ length: dimension }, (_, index) => float(index));
  const numbers = at + 4 * (dimension + ranks.size);
  const unpacked = new Map<number, Float32Array>();
  const unpack = (rank: number): Float32Array => {
    const row = new Float32Array(dimension);
    const scale = float(dimension + rank);
    for (let index = 0; index < dimension; index += 1) {
      row[index] = scale * view.getInt8(numbers + rank * dimension + index);
    }
    return normalised(without(row, common));
  };
  const vector = (rank: number): Float32Array => {
    const known = unpacked.get(rank) ?? unpack(rank);
    unpacked.set(rank, known);
    return known;
  };
  return { source, dimension, ranks, vector, common };
}

let shipped: WordVectors | undefined;

/** The vectors of the package, read once. */
export function shippedWordVectors(): WordVectors {
  shipped ??= decodeWordVectors(readFileSync(new URL('word-vectors.bin', import.meta.url)));
  return shipped;
}

/** The vector with its part along a unit direction taken out; in place. */
export function without(vector: Float32Array, direction: Float32Array): Float32Array {
  const along = dot(vector, direction);
  for (let at = 0; at < vector.length; at += 1) {
    vector[at] = (vector[at] ?? 0) - along * (direction[at] ?? 0);
  }
  return vector;
}

/** The vector at length one; in place. A zero vector stays. */
export function normalised(vector: Float32Array): Float32Array {
  const length = Math.sqrt(dot(vector, vector));
  if (length > 0)
    for (let at = 0; at < vector.length; at += 1) vector[at] = (vector[at] ?? 0) / length;
  return vector;
}

export function dot(a: Float32Array, b: Float32Array): number {
  let sum = 0;
  for (let at = 0; at < a.length; at += 1) sum += (a[at] ?? 0) * (b[at] ?? 0);
  return sum;
}
