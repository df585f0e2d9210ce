import { parentPort } from 'node:worker_threads';
import { LexicalIndex, type LexicalEntry } from './lexical.ts';
import type { Scored, WordCounts } from './ports.ts';

/** What the thread is asked. `rows` of `dimension` numbers stand in the shared buffer; `used` says which are filled. */
export type ScanRequest =
  | { kind: 'share'; vectors: SharedArrayBuffer; used: SharedArrayBuffer; dimension: number }
  | { kind: 'change'; add: readonly LexicalEntry[]; remove: readonly string[] }
  | { kind: 'nearest'; vector: Float32Array; rows: number; count: number }
  | { kind: 'match'; question: string; count: number };
export type ScanReply =
  | { kind: 'done' }
  | { kind: 'nearest'; rows: readonly { row: number; score: number }[] }
  | { kind: 'match'; matches: Scored[]; words: WordCounts };

let vectors: Float32Array = new Float32Array();
let used: Uint8Array = new Uint8Array();
let dimension = 0;
const lexical = new LexicalIndex();

parentPort?.on('message', ({ id, request }: { id: number; request: ScanRequest }) => {
  parentPort?.postMessage({ id, reply: answer(request) });
});

function answer(request: ScanRequest): ScanReply {
  switch (request.kind) {
    case 'share':
      vectors = new Float32Array(request.vectors);
      used = new Uint8Array(request.used);
      dimension = request.dimension;
      return { kind: 'done' };
    case 'change':
      request.remove.forEach((chunkId) => lexical.remove(chunkId));
      request.add.forEach((entry) => lexical.add(entry));
      return { kind: 'done' };
    case 'nearest':
      return { kind: 'nearest', rows: nearest(request.vector, request.rows, request.count) };
    case 'match':
      return {
        kind: 'match',
        matches: lexical.match(request.question, request.count),
        words: lexical.counts(request.question),
      };
    default:
      return request satisfies never;
  }
}

/** Every row is looked at; the best are kept in order. */
function nearest(
  query: Float32Array,
  rows: number,
  count: number,
): { row: number; score: number }[] {
  const best: { row: number; score: number }[] = [];
  for (let row = 0; row < rows; row += 1) {
    if (used[row] !== 1) continue;
    const score = product(query, row * dimension);
    if (best.length === count && score <= (best[count - 1]?.score ?? 0)) continue;
    const at = best.findIndex((one) => one.score < score);
    best.splice(at === -1 ? best.length : at, 0, { row, score });
    if (best.length > count) best.pop();
  }
  return best;
}

/** Four sums at a time: the additions need not wait for each other. */
function product(query: Float32Array, from: number): number {
  let [a, b, c, d] = [0, 0, 0, 0];
  const end = dimension - (dimension % 4);
  for (let at = 0; at < end; at += 4) {
    a += (query[at] as number) * (vectors[from + at] as number);
    b += (query[at + 1] as number) * (vectors[from + at + 1] as number);
    c += (query[at + 2] as number) * (vectors[from + at + 2] as number);
    d += (query[at + 3] as number) * (vectors[from + at + 3] as number);
  }
  for (let at = end; at < dimension; at += 1) {
    a += (query[at] as number) * (vectors[from + at] as number);
  }
  return a + b + c + d;
}
