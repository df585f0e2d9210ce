import type { ChunkPlace, KnowledgeStore, StoredDocument } from '../store/knowledge.ts';
import type { Passage } from './retriever.ts';
import { Scanner, type ScannedChunk } from './scanner.ts';

type Loaded = { fingerprint: string; document: Omit<StoredDocument, 'text'> };
type Place = { documentId: string; place: ChunkPlace };

/** Chunks read from Redis and handed to the scanner at a time. */
const PAGE = 500;

/**
 * What is in Redis, in the scanner of this process. Before each search one number is read; if it has moved, the documents
 * that changed are loaded, so a search sees every document that was there when it began.
 */
export class LiveIndex {
  readonly scanner: Scanner;
  readonly #store: KnowledgeStore;
  readonly #model: string;
  readonly #dimension: number;
  readonly #documents = new Map<string, Loaded>();
  readonly #places = new Map<string, Place>();
  #revision = -1;
  #loading: Promise<void> | undefined;

  constructor(store: KnowledgeStore, embedder: { model: string; dimension: number }) {
    this.#store = store;
    this.#model = embedder.model;
    this.#dimension = embedder.dimension;
    this.scanner = new Scanner(embedder.dimension);
  }

  /** Titles of all documents, in order of their ids. */
  titles(): string[] {
    return [...this.#documents]
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([, { document }]) => document.title);
  }

  async follow(): Promise<void> {
    const revision = await this.#store.revision();
    while (revision !== this.#revision) {
      this.#loading ??= this.#load().finally(() => {
        this.#loading = undefined;
      });
      await this.#loading;
      if (revision <= this.#revision) return;
    }
  }

  /** The passages that are still there. */
  async passages(chunkIds: readonly string[]): Promise<Passage[]> {
    const texts = await this.#store.texts(chunkIds);
    return chunkIds.flatMap((chunkId) => {
      const known = this.#places.get(chunkId);
      const document = known && this.#documents.get(known.documentId)?.document;
      const text = texts.get(chunkId);
      if (known === undefined || document === undefined || text === undefined) return [];
      const { title, url, version } = document;
      const { start, end, heading } = known.place;
      return [
        {
          ...{ chunkId, documentId: known.documentId, version, title, heading, text, start, end },
          ...(url === undefined ? {} : { url }),
        },
      ];
    });
  }

  close(): Promise<void> {
    return this.scanner.close();
  }

  async #load(): Promise<void> {
    // Read first: what changes while loading is then loaded again.
    const revision = await this.#store.revision();
    const fingerprints = await this.#store.fingerprints();
    for (const id of this.#documents.keys()) {
      if (!fingerprints.has(id)) await this.#forget(id);
    }
    for (const [id, fingerprint] of fingerprints) {
      if (this.#documents.get(id)?.fingerprint === fingerprint) continue;
      const document = await this.#store.document(id);
      if (document === undefined) await this.#forget(id);
      else await this.#take(fingerprint, document);
    }
    this.#revision = revision;
  }

  async #take(fingerprint: string, stored: StoredDocument): Promise<void> {
    // The text is long and only citations need it.
    const { text: _text, ...document } = stored;
    const before = this.#documents.get(document.id)?.document;
    const kept = new Set(document.chunks.map((chunk) => chunk.id));
    // Other names stand in the word index under every chunk, and another model makes other vectors.
    const same = (['title', 'model', 'dimension'] as const).every(
      (field) => before?.[field] === document[field],
    );
    const old = before?.chunks.map((chunk) => chunk.id) ?? [];
    const gone = old.filter((id) => !same || !kept.has(id));
    const known = new Set(same ? old : []);
    const wanted = document.chunks.filter((chunk) => !known.has(chunk.id));
    await this.scanner.change([], gone);
    for (const id of old) this.#places.delete(id);
    for (let from = 0; from < wanted.length; from += PAGE) {
      await this.scanner.change(await this.#read(document, wanted.slice(from, from + PAGE)), []);
    }
    for (const place of document.chunks) {
      this.#places.set(place.id, { documentId: document.id, place });
    }
    this.#documents.set(document.id, { fingerprint, document });
  }

  async #read(
    { title }: Pick<StoredDocument, 'title'>,
    places: readonly ChunkPlace[],
  ): Promise<ScannedChunk[]> {
    const headings = new Map(places.map(({ id, heading }) => [id, heading]));
    const chunks = await this.#store.chunks(places.map((place) => place.id));
    return chunks
      .filter(({ model, vector }) => model === this.#model && vector.length === this.#dimension)
      .map(({ id, text, vector }) => {
        return { chunkId: id, title, heading: headings.get(id) ?? '', text, vector };
      });
  }

  async #forget(id: string): Promise<void> {
    const chunks = this.#documents.get(id)?.document.chunks.map((chunk) => chunk.id) ?? [];
    await this.scanner.change([], chunks);
    for (const chunk of chunks) this.#places.delete(chunk);
    this.#documents.delete(id);
  }
}
