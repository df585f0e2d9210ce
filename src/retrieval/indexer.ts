import { InvalidInputError } from '../contracts/index.ts';
import type { KnowledgeStore } from '../store/knowledge.ts';
import type { Embedder, ExternalVectors } from './ports.ts';
import { prepare, type PreparedChunk, type PreparedDocument, type SourceFile } from './prepare.ts';

export type IndexerParts = {
  store: KnowledgeStore;
  embedder: Embedder;
  /** Gets every vector too. */
  external?: ExternalVectors;
};

export type IndexReport = {
  documents: { added: number; changed: number; unchanged: number };
  chunks: number;
  /** Chunks that were sent to the embedder; the others had a vector already. */
  embedded: number;
  tokens: number;
  costMicros: number;
};
export type IndexProgress = { embedded: number; toEmbed: number };

type Pending = PreparedChunk & { documentId: string };

/**
 * Indexes files: what has no vector of this model is embedded, batch by batch, each batch kept before the next one is
 * sent; a document takes the place of its earlier version as soon as all its vectors are there. Run again after an
 * interruption it goes on where it was; run again after nothing changed it does nothing.
 *
 * @throws InvalidInputError when a file cannot be read; whatever the embedder throws
 */
export async function indexFiles(
  parts: IndexerParts,
  files: readonly SourceFile[],
  options: { onProgress?: (progress: IndexProgress) => void; signal?: AbortSignal } = {},
): Promise<IndexReport> {
  const { store, embedder } = parts;
  const prepared = files.map(prepare);
  const known = await store.fingerprints();
  const report: IndexReport = {
    documents: { added: 0, changed: 0, unchanged: 0 },
    chunks: prepared.reduce((sum, document) => sum + document.chunks.length, 0),
    ...{ embedded: 0, tokens: 0, costMicros: 0 },
  };
  const pending: Pending[] = [];
  const missing = new Map<string, number>();
  for (const document of prepared) {
    const ids = document.chunks.map((chunk) => chunk.id);
    const there = await store.embedded(ids, embedder.model, embedder.dimension);
    const lacking = document.chunks.filter((chunk) => !there.has(chunk.id));
    pending.push(...lacking.map((chunk) => ({ ...chunk, documentId: document.id })));
    missing.set(document.id, lacking.length);
    if (lacking.length === 0) await put(parts, document, known, report);
  }
  const byId = new Map(prepared.map((document) => [document.id, document]));
  options.onProgress?.({ embedded: 0, toEmbed: pending.length });
  for (let from = 0; from < pending.length; from += embedder.batchSize) {
    options.signal?.throwIfAborted();
    const batch = pending.slice(from, from + embedder.batchSize);
    await embedBatch(parts, batch, report, options.signal);
    for (const { documentId } of batch) {
      const left = (missing.get(documentId) ?? 0) - 1;
      missing.set(documentId, left);
      const document = byId.get(documentId);
      if (left === 0 && document !== undefined) await put(parts, document, known, report);
    }
    options.onProgress?.({ embedded: report.embedded, toEmbed: pending.length });
  }
  return report;
}

async function embedBatch(
  { store, embedder, external }: IndexerParts,
  batch: readonly Pending[],
  report: IndexReport,
  signal?: AbortSignal,
): Promise<void> {
  const answer = await embedder.embed(
    batch.map((chunk) => chunk.embedded),
    signal,
  );
  const vectors = batch.map((chunk, at) => {
    const vector = answer.vectors[at];
    if (vector?.length === embedder.dimension) return { ...chunk, vector };
    throw new InvalidInputError(
      'embedder',
      `${vector?.length ?? 0} numbers`,
      `must answer ${embedder.dimension} numbers a text; is the dimension of ${embedder.model} right?`,
    );
  });
  await external?.put(vectors.map(({ id, vector }) => ({ chunkId: id, vector })));
  await store.putVectors(embedder.model, vectors);
  report.embedded += batch.length;
  report.tokens += answer.tokens;
  report.costMicros += answer.costMicros;
}

async function put(
  { store, embedder, external }: IndexerParts,
  { chunks, ...document }: PreparedDocument,
  known: ReadonlyMap<string, string>,
  report: IndexReport,
): Promise<void> {
  const { changed, dropped } = await store.putDocument({
    ...document,
    model: embedder.model,
    dimension: embedder.dimension,
    indexedAt: Date.now(),
    chunks: chunks.map(({ id, start, end, heading }) => ({ id, start, end, heading })),
  });
  if (dropped.length > 0) await external?.remove(dropped);
  const what = !known.has(document.id) ? 'added' : changed ? 'changed' : 'unchanged';
  report.documents[what] += 1;
}
