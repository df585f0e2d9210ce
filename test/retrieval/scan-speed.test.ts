import { expect, onTestFinished, test } from 'vitest';
import { indexFiles } from '../../src/retrieval/indexer.ts';
import { openKnowledge, type Knowledge } from '../../src/retrieval/knowledge.ts';
import type { Reranker } from '../../src/retrieval/ports.ts';
import { countingEmbedder, markdown, openStore } from './support.ts';

const DOCUMENTS = 100;
const SECTIONS = 100;
const SEARCHES = 100;

test(
  '10,000 chunks of 512 numbers: a search takes less than 50 ms in 99 of 100 cases, and does not hold up the event loop',
  { timeout: 180_000 },
  async () => {
    const { store } = openStore();
    const { embedder } = countingEmbedder({ dimension: 512 });
    const files = Array.from({ length: DOCUMENTS }, (_, at) => markdown(`d${at}`, textOf(at)));
    await indexFiles({ store, embedder: { ...embedder, batchSize: 500 } }, files);
    const reranker: Reranker = {
      name: 'test/first',
      rerank: (_, { candidates }) => Promise.resolve(candidates.map((__, at) => -at)),
    };
    const knowledge = openKnowledge(store, {
      ...{ embedder, reranker },
      calibration: {
        ...{ embedder: 'test/words', reranker: 'test/first', date: '2026-01-01', data: 'test' },
        ...{ threshold: 0, slope: 1 },
      },
    });
    onTestFinished(() => knowledge.close());
    await knowledge.search('warm up');

    // What else this machine does at the time is not ours: the quietest of three rounds counts.
    const rounds: { p99: number; busy: number }[] = [];
    for (let round = 0; round < 3; round += 1) rounds.push(await ask(knowledge));
    const best = rounds.toSorted((a, b) => a.p99 - b.p99)[0];

    expect(best?.p99).toBeLessThan(50);
    expect(best?.busy).toBeLessThan(0.5);
  },
);

function textOf(document: number): string {
  return Array.from(
    { length: SECTIONS },
    (_, section) => `## Lamp ${document}-${section}\n\nShines with ${document * section} lumen.\n`,
  ).join('\n');
}

/** 99th percentile in milliseconds, and the share of the time in which the event loop was held. */
async function ask(knowledge: Knowledge): Promise<{ p99: number; busy: number }> {
  const durations: number[] = [];
  const before = performance.eventLoopUtilization();
  for (let at = 0; at < SEARCHES; at += 1) {
    const start = performance.now();
    const { ranked } = await knowledge.search(`What about lamp ${at % DOCUMENTS}-${at}?`);
    durations.push(performance.now() - start);
    expect(ranked).toHaveLength(20);
  }
  const busy = performance.eventLoopUtilization(before).utilization;
  const p99 = durations.toSorted((a, b) => a - b)[Math.ceil(0.99 * SEARCHES) - 1] ?? Infinity;
  return { p99, busy };
}
