import { describe, expect, test } from 'vitest';
import { indexFiles } from '../../src/retrieval/indexer.ts';
import type { ExternalVectors } from '../../src/retrieval/ports.ts';
import { countingEmbedder, markdown, openStore } from './support.ts';

const RETURNS = '# Returns\n\n## How long\n\nWithin 30 days.\n\n## Costs\n\nFree of charge.';
const CARE = '# Care\n\n## Lamps\n\nWipe them dry.';

describe('incremental', () => {
  test('[S1-19] every chunk is embedded by itself and kept with its range, version, hash, model and dimension', async () => {
    const { store } = openStore();
    const { embedder, asked } = countingEmbedder();

    const report = await indexFiles({ store, embedder }, [markdown('returns', RETURNS)]);

    expect(report).toMatchObject({
      documents: { added: 1 },
      chunks: 2,
      embedded: 2,
      costMicros: 2,
    });
    expect(asked).toHaveLength(2);
    const document = await store.document('returns');
    expect(document).toMatchObject({
      ...{ title: 'Returns', text: RETURNS, model: 'test/words', dimension: 64 },
      version: expect.stringMatching(/^[0-9a-f]{12}$/),
      hash: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    const chunks = await store.chunks(document?.chunks.map(({ id }) => id) ?? []);
    expect(chunks.map(({ text, model, vector }) => [text, model, vector.length])).toEqual(
      document?.chunks.map(({ start, end }) => [RETURNS.slice(start, end), 'test/words', 64]),
    );
  });

  test('a second run embeds nothing; a change embeds its own chunk only, and ids of the others stay', async () => {
    const { store } = openStore();
    const { embedder, asked } = countingEmbedder();
    const run = (text: string) =>
      indexFiles({ store, embedder }, [markdown('returns', text), markdown('care', CARE)]);
    await run(RETURNS);
    const before = await store.document('returns');
    asked.length = 0;

    const same = await run(RETURNS);
    expect(same).toMatchObject({ documents: { added: 0, changed: 0, unchanged: 2 }, embedded: 0 });
    expect(asked).toEqual([]);

    const changed = await run(RETURNS.replace('30', '14'));
    expect(changed).toMatchObject({ documents: { changed: 1, unchanged: 1 }, embedded: 1 });
    expect(asked).toEqual([expect.stringContaining('14 days')]);
    const after = await store.document('returns');
    expect(after?.version).not.toBe(before?.version);
    expect(after?.chunks.map(({ id }) => id)).toEqual([expect.anything(), before?.chunks[1]?.id]);
    expect(after?.chunks[0]?.id).not.toBe(before?.chunks[0]?.id);
  });

  test('another model or dimension embeds everything again', async () => {
    const { store } = openStore();
    const files = [markdown('returns', RETURNS), markdown('care', CARE)];
    await indexFiles({ store, embedder: countingEmbedder().embedder }, files);

    const other = countingEmbedder({ model: 'test/other' });
    await indexFiles({ store, embedder: other.embedder }, files);
    const wider = countingEmbedder({ model: 'test/other', dimension: 32 });
    await indexFiles({ store, embedder: wider.embedder }, files);

    expect(other.asked).toHaveLength(3);
    expect(wider.asked).toHaveLength(3);
    expect(await store.document('care')).toMatchObject({ model: 'test/other', dimension: 32 });
  });

  test('removing a document leaves no key of it behind; others stay', async () => {
    const { store, keys } = openStore();
    const { embedder } = countingEmbedder();
    await indexFiles({ store, embedder }, [markdown('care', CARE)]);
    const alone = (await keys()).toSorted();
    await indexFiles({ store, embedder }, [markdown('returns', RETURNS)]);

    expect(await store.removeDocument('returns')).toHaveLength(2);
    expect((await keys()).toSorted()).toEqual(alone);
    expect(await store.removeDocument('returns')).toBeUndefined();
  });

  test('what an interrupted run left of a text that was changed before the next run is cleaned up', async () => {
    const { store, keys } = openStore();
    const { embedder } = countingEmbedder();
    await store.putVectors('test/words', [
      { id: 'left', documentId: 'care', text: 'x', vector: new Float32Array(64) },
    ]);

    await indexFiles({ store, embedder }, [markdown('care', CARE)]);

    expect((await keys()).filter((key) => key.includes(':chunk:'))).toHaveLength(1);
  });
});

test('an outside vector store gets every vector before Redis has it, and is told what goes', async () => {
  const { store } = openStore();
  const { embedder } = countingEmbedder();
  const kept = new Map<string, Float32Array>();
  const external: ExternalVectors = {
    put: async (vectors) => {
      const known = await store.embedded(
        vectors.map(({ chunkId }) => chunkId),
        'test/words',
        64,
      );
      expect(known.size).toBe(0);
      vectors.forEach(({ chunkId, vector }) => kept.set(chunkId, vector));
    },
    remove: (ids) => Promise.resolve(ids.forEach((id) => kept.delete(id))),
    nearest: () => Promise.resolve([]),
  };
  await indexFiles({ store, embedder, external }, [markdown('returns', RETURNS)]);
  expect(kept.size).toBe(2);

  await indexFiles({ store, embedder, external }, [markdown('returns', '# Returns\n\nNone.')]);
  expect(kept.size).toBe(1);
});

test('an embedder that answers another dimension than it says is refused before anything is kept', async () => {
  const { store, keys } = openStore();
  const { embedder } = countingEmbedder();

  await expect(
    indexFiles({ store, embedder: { ...embedder, dimension: 65 } }, [markdown('care', CARE)]),
  ).rejects.toThrow(/must answer 65 numbers/);
  expect(await keys()).toEqual([]);
});
