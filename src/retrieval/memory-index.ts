import { LexicalIndex } from './lexical.ts';
import { dot } from './offline/word-vectors.ts';
import type { Embedder, Retriever } from './ports.ts';
import type { PreparedDocument } from './prepare.ts';
import { hybridRetriever, type Passage } from './retriever.ts';

/** The retriever over documents in memory, without Redis: for fitting, and for trying a folder out. */
export async function memoryRetriever(
  documents: readonly PreparedDocument[],
  embedder: Embedder,
): Promise<Retriever> {
  const lexical = new LexicalIndex();
  const passages = new Map<string, Passage>();
  const vectors = new Map<string, Float32Array>();
  for (const { id, version, title, url, chunks } of documents) {
    const embedded = await embedder.embed(chunks.map((chunk) => chunk.embedded));
    chunks.forEach(({ id: chunkId, start, end, heading, text }, at) => {
      lexical.add({ chunkId, title, heading, text });
      passages.set(chunkId, {
        ...{ chunkId, documentId: id, version, title, heading, text, start, end },
        ...(url === undefined ? {} : { url }),
      });
      vectors.set(chunkId, embedded.vectors[at] ?? new Float32Array(embedder.dimension));
    });
  }
  return hybridRetriever({
    embedder,
    lexical: {
      match: (question, count) =>
        Promise.resolve({
          matches: lexical.match(question, count),
          words: lexical.counts(question),
        }),
    },
    vectors: {
      nearest: (vector, count) =>
        Promise.resolve(
          [...vectors]
            .map(([chunkId, other]) => ({ chunkId, score: dot(vector, other) }))
            .toSorted((a, b) => b.score - a.score)
            .slice(0, count),
        ),
    },
    passages: (ids) => Promise.resolve(ids.flatMap((id) => passages.get(id) ?? [])),
  });
}
