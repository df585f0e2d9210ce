import { describe, expect, onTestFinished, test } from 'vitest';
import type { Calibration } from '../../src/retrieval/calibration.ts';
import { gate } from '../../src/retrieval/gate.ts';
import { indexFiles } from '../../src/retrieval/indexer.ts';
import { openKnowledge, type KnowledgeOptions } from '../../src/retrieval/knowledge.ts';
import type { Candidate, Reranker, SearchStep } from '../../src/retrieval/ports.ts';
import { joinRanks } from '../../src/retrieval/recall.ts';
import { search } from '../../src/retrieval/search.ts';
import { candidate, countingEmbedder, markdown, openStore } from './support.ts';

/** Scores by what stands in the passage. */
function reranker(score: (one: Candidate) => number): Reranker & { seen: Candidate[] } {
  const seen: Candidate[] = [];
  return {
    name: 'test/rules',
    seen,
    rerank: (_, { candidates }) => {
      seen.push(...candidates);
      return Promise.resolve(candidates.map(score));
    },
  };
}
const CALIBRATION: Calibration = {
  ...{ embedder: 'test/words', reranker: 'test/rules', date: '2026-01-01', data: 'test' },
  ...{ threshold: 0.5, slope: 4 },
};

async function knowing(files: Record<string, string>, options: Partial<KnowledgeOptions> = {}) {
  const { store, ...opened } = openStore();
  const { embedder, asked } = countingEmbedder();
  const rules = reranker((one) => (one.text.includes('days') ? 1 : 0));
  const index = (more: Record<string, string>) =>
    indexFiles(
      { store, embedder },
      Object.entries(more).map(([id, text]) => markdown(id, text)),
    );
  await index(files);
  asked.length = 0;
  const knowledge = openKnowledge(store, {
    ...{ embedder, reranker: rules, calibration: CALIBRATION },
    ...options,
  });
  onTestFinished(() => knowledge.close());
  return { ...opened, store, knowledge, asked, rules, index };
}

const SHOP = {
  returns: '# Returns\n\n## How long\n\nUnused items can be returned within 30 days.',
  care: '# Care\n\n## Lamps\n\nWipe lamps with a dry cloth.',
};

describe('recall', () => {
  test('[S1-19] the question itself is embedded, once, and nothing else at query time', async () => {
    const { knowledge, asked } = await knowing(SHOP);

    await knowledge.search('How long can items be returned?');

    expect(asked).toEqual(['How long can items be returned?']);
  });

  test('[S1-20] at most 20 candidates of both searches are joined and all of them are reranked, once', async () => {
    const files = Object.fromEntries(
      Array.from({ length: 40 }, (_, at) => [`d${at}`, `# Doc ${at}\n\nLamp number ${at} shines.`]),
    );
    const { knowledge, rules } = await knowing(files);

    const { ranked } = await knowledge.search('Which lamp shines?');

    expect(rules.seen).toHaveLength(20);
    expect(ranked).toHaveLength(20);
    expect(ranked.some((one) => one.vectorScore !== null)).toBe(true);
    expect(ranked.some((one) => one.lexicalScore !== null)).toBe(true);
  });

  test('what only one search finds is a candidate too; what both find comes first', () => {
    const list = (...ids: string[]) => ids.map((chunkId) => ({ chunkId, score: 1 }));

    expect(joinRanks([list('a', 'b', 'c'), list('d', 'b')], 3)).toEqual(['b', 'a', 'd']);
  });

  test('[S1-20] retriever, reranker and gate are parts: each can be another one, and each reports itself', async () => {
    const steps: SearchStep[] = [];

    const result = await search(
      {
        retriever: {
          retrieve: (_, count) =>
            Promise.resolve({
              candidates: Array.from({ length: count }, (__, at) =>
                candidate({ chunkId: `c${at}` }),
              ),
              words: { chunks: 1, containing: new Map() },
              costMicros: 3,
            }),
        },
        reranker: reranker(({ chunkId }) => (chunkId === 'c7' ? 0.9 : 0.1)),
        scale: (raw) => raw,
        gate: gate(0.8, 2),
        observe: (step) => steps.push(step),
      },
      'question',
    );

    expect(result.passages.map(({ chunkId }) => chunkId)).toEqual(['c7', 'c0']);
    expect(steps).toMatchObject([
      { part: 'retriever', candidates: 20, costMicros: 3 },
      { part: 'reranker', name: 'test/rules', best: 0.9 },
      { part: 'gate', verdict: 'found', best: 0.9, passages: 2 },
    ]);
  });
});

describe('gate', () => {
  test('[S1-01] [S1-21] the best passages go through with both scores; below the gate nothing does', async () => {
    const { knowledge } = await knowing(SHOP);

    const found = await knowledge.search('How long can items be returned?');
    const nothing = await (await knowing({ care: SHOP.care })).knowledge.search('Wipe lamps?');

    expect(found.passages[0]).toMatchObject({
      documentId: 'returns',
      rerankScore: expect.closeTo(0.95, 1),
      vectorScore: expect.any(Number),
      lexicalScore: expect.any(Number),
    });
    expect(nothing.passages).toEqual([]);
    expect(nothing.ranked[0]).toMatchObject({
      documentId: 'care',
      rerankScore: expect.any(Number),
    });
  });

  test('a calibration made for other parts is refused, with the way to make one', async () => {
    const other = { ...CALIBRATION, reranker: 'other' };

    await expect(knowing(SHOP, { calibration: other })).rejects.toThrow(
      /must be made for test\/words and test\/rules: turnkeeper kb eval/,
    );
  });

  test('a reranker that fails makes the search fail: no answer is made up', async () => {
    const broken: Reranker = {
      name: 'test/rules',
      rerank: () => Promise.reject(new Error('down')),
    };

    await expect(
      (await knowing(SHOP, { reranker: broken })).knowledge.search('returned?'),
    ).rejects.toThrow('down');
  });
});

describe('changes', () => {
  test('a running search sees a document that was added, changed or removed before it began', async () => {
    const { knowledge, index, store } = await knowing({ care: SHOP.care });
    const found = async () =>
      (await knowledge.search('items returned days')).passages.map(({ text }) =>
        text.split('\n').at(-1),
      );
    expect(await found()).toEqual([]);

    await index({ returns: SHOP.returns });
    expect((await found())[0]).toBe('Unused items can be returned within 30 days.');

    await index({ returns: SHOP.returns.replace('30', '14') });
    expect((await found())[0]).toBe('Unused items can be returned within 14 days.');

    await store.removeDocument('returns');
    expect(await found()).toEqual([]);
    await index({ returns: SHOP.returns });
    expect((await found())[0]).toBe('Unused items can be returned within 30 days.');
  });

  test('vectors of another model are not compared with the question', async () => {
    const { knowledge, store } = await knowing(SHOP);
    const { embedder } = countingEmbedder({ model: 'test/other' });
    await indexFiles({ store, embedder }, [markdown('returns', SHOP.returns)]);

    const { ranked } = await knowledge.search('Unused items can be returned within 30 days.');

    expect(
      ranked.find((one) => one.documentId === 'returns' && one.vectorScore !== null),
    ).toBeUndefined();
  });

  test('searches side by side with changes never see half of one', async () => {
    const { knowledge, index } = await knowing(SHOP);
    const searches = Array.from({ length: 20 }, async (_, at) => {
      if (at % 5 === 0) await index({ returns: SHOP.returns.replace('30', String(at + 1)) });
      return knowledge.search('Unused items returned within days');
    });

    for (const { ranked } of await Promise.all(searches)) {
      for (const one of ranked) expect(one.end - one.start).toBe(one.text.length);
    }
  });
});

test('without a menu of its own an agent offers the topics it has documents about', async () => {
  const { knowledge } = await knowing(SHOP);
  await knowledge.search('anything');

  expect(knowledge.menu()).toEqual([
    'Answer questions about: Care',
    'Answer questions about: Returns',
    'Pass the question on to a colleague',
  ]);
  await expect(knowing(SHOP, { menu: [] })).rejects.toThrow(/menu/);
});
