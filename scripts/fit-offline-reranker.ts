import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readPairs, readProbes, type Pair } from '../src/retrieval/evaluation/pairs.ts';
import { findFiles } from '../src/retrieval/files.ts';
import { memoryRetriever } from '../src/retrieval/memory-index.ts';
import { EVIDENCE, evidenceOf, type Evidence } from '../src/retrieval/offline/evidence.ts';
import { offlineEmbedder } from '../src/retrieval/offline/offline-embedder.ts';
import { weigh, type OfflineWeights } from '../src/retrieval/offline/offline-reranker.ts';
import { shippedWordVectors } from '../src/retrieval/offline/word-vectors.ts';
import { prepare } from '../src/retrieval/prepare.ts';

/**
 * Fits the weights of the offline reranker: logistic regression on the tuning half of the pairs and of the questions that
 * no document answers. `node scripts/fit-offline-reranker.ts <questions nobody can answer.jsonl> [category]`.
 */
const root = join(import.meta.dirname, '..');
const [probes = '', category] = process.argv.slice(2);
const pairs = [
  ...readPairs(join(root, 'test/retrieval/eval/pairs.jsonl')),
  ...readProbes(probes, category),
].filter((pair) => pair.split === 'tuning');

type Example = { evidence: Evidence; right: boolean };
type Asked = { pair: Pair; passages: Example[] };
const vectors = shippedWordVectors();
const documents = findFiles([join(root, 'examples/technova/knowledge')]).files.map(prepare);
const retriever = await memoryRetriever(documents, offlineEmbedder(vectors));
const asked: Asked[] = [];
for (const pair of pairs) {
  const recall = await retriever.retrieve(pair.question, 20);
  const evidence = evidenceOf(pair.question, recall, vectors);
  asked.push({
    pair,
    passages: evidence.map((one, at) => ({
      evidence: one,
      right: recall.candidates[at]?.documentId === pair.document,
    })),
  });
}

const START = { coverage: 1, exact: 2, heading: 1, rare: 1, sentence: 1 };
let fitted: OfflineWeights = weightsOf([
  0,
  ...EVIDENCE.map((name) => ({ ...zero(), ...START })[name]),
]);
// Which passage of the right document answers is not written down: the one that scores best so far is taken for it.
for (let round = 0; round < 8; round += 1) {
  const rows: { x: number[]; y: number; weight: number }[] = [];
  for (const { pair, passages } of asked) {
    const best = passages.toSorted((a, b) => weigh(b.evidence, fitted) - weigh(a.evidence, fitted));
    const take = (list: readonly Example[], y: number, weight: number): void => {
      for (const { evidence } of list) rows.push({ x: numbers(evidence), y, weight });
    };
    const wrong = best.filter((one) => !one.right);
    if (pair.document === null) take(wrong.slice(0, 3), 0, 0.7);
    else {
      take(best.filter((one) => one.right).slice(0, 1), 1, 3);
      take(wrong.slice(0, 5), 0, 0.4);
    }
  }
  fitted = weightsOf(logistic(rows));
}
const file = join(root, 'src/retrieval/offline/reranker-weights.json');
writeFileSync(file, `${JSON.stringify(fitted, null, 2)}\n`);
console.log(`${asked.length} questions, ${file}`);

function zero(): Evidence {
  return Object.fromEntries(EVIDENCE.map((name) => [name, 0])) as Evidence;
}

function numbers(evidence: Evidence): number[] {
  return [1, ...EVIDENCE.map((name) => evidence[name])];
}

function weightsOf([intercept = 0, ...rest]: readonly number[]): OfflineWeights {
  const weights = Object.fromEntries(
    EVIDENCE.map((name, at) => [name, Number((rest[at] ?? 0).toFixed(4))]),
  ) as OfflineWeights['weights'];
  const date = new Date().toISOString().slice(0, 10);
  const fittedOn = `${pairs.length} questions of the tuning half, test/retrieval/eval`;
  return { date, fittedOn, intercept: Number(intercept.toFixed(4)), weights };
}

/** Newton's method with a small ridge; the columns are few. */
function logistic(rows: readonly { x: number[]; y: number; weight: number }[]): number[] {
  const size = EVIDENCE.length + 1;
  const RIDGE = 0.3;
  let beta = Array.from({ length: size }, () => 0);
  for (let step = 0; step < 30; step += 1) {
    const gradient = beta.map((value) => -RIDGE * value);
    const hessian = beta.map((_, i) => beta.map((__, j): number => (i === j ? RIDGE : 0)));
    for (const { x, y, weight } of rows) {
      const p = 1 / (1 + Math.exp(-x.reduce((sum, value, at) => sum + value * (beta[at] ?? 0), 0)));
      for (let i = 0; i < size; i += 1) {
        gradient[i] = (gradient[i] ?? 0) + weight * (y - p) * (x[i] ?? 0);
        const row = hessian[i] ?? [];
        for (let j = 0; j < size; j += 1) {
          row[j] = (row[j] ?? 0) + weight * p * (1 - p) * (x[i] ?? 0) * (x[j] ?? 0);
        }
      }
    }
    const move = solve(hessian, gradient);
    beta = beta.map((value, at) => value + (move[at] ?? 0));
  }
  return beta;
}

/** Solves a symmetric positive system by elimination. */
function solve(matrix: number[][], right: readonly number[]): number[] {
  const rows = matrix.map((row, at) => [...row, right[at] ?? 0]);
  for (let pivot = 0; pivot < rows.length; pivot += 1) {
    const lead = rows[pivot] ?? [];
    for (let other = 0; other < rows.length; other += 1) {
      const row = rows[other] ?? [];
      const factor = other === pivot ? 0 : (row[pivot] ?? 0) / (lead[pivot] ?? 1);
      if (factor !== 0)
        for (let at = pivot; at < row.length; at += 1)
          row[at] = (row[at] ?? 0) - factor * (lead[at] ?? 0);
    }
  }
  return rows.map((row, at) => (row.at(-1) ?? 0) / (row[at] ?? 1));
}
