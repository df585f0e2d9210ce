import type { Redis } from 'ioredis';
import { digest } from '../loop/index.ts';

/**
 * The keys of the knowledge base. It belongs to no conversation and to no lane, so it has a hash tag of its own:
 * `{<prefix>kb}:<kind>` or `{<prefix>kb}:<kind>:<id>`. None has a time-out; removing a document removes its keys.
 */
export const KNOWLEDGE_KINDS = {
  /** hash, by document: text, title, place of every chunk. Replaced in one step when all its vectors are stored. */
  doc: 'doc',
  /** hash document -> fingerprint of its record: what readers compare with what they have loaded. */
  docs: 'docs',
  /** string: counts changes of `docs`; a reader that sees the same number has nothing to load. */
  revision: 'revision',
  /** hash, by chunk: text, model, dimension and the vector (float32, little endian). */
  chunk: 'chunk',
  /** set of the chunks stored for a document, also those of a run that was interrupted. */
  chunks: 'chunks',
} as const;
type Kind = keyof typeof KNOWLEDGE_KINDS;

/** Where a chunk stands in its document. Offsets are UTF-16 code units of the stored text, the end not included. */
export type ChunkPlace = { id: string; start: number; end: number; heading: string };

export type StoredDocument = {
  id: string;
  title: string;
  /** Where a customer can read it. */
  url?: string;
  /** The file it came from, for people. */
  source: string;
  text: string;
  /** First 12 hex digits of the hash: another text is another version, the same text again the same one. */
  version: string;
  /** SHA-256 of the text. */
  hash: string;
  /** The model its chunks were embedded with. */
  model: string;
  dimension: number;
  /** Milliseconds since the epoch. */
  indexedAt: number;
  chunks: readonly ChunkPlace[];
};

export type ChunkVector = { id: string; text: string; vector: Float32Array };
export type LoadedChunk = { id: string; text: string; model: string; vector: Float32Array };

/** Chunks read or deleted in one command. */
const PAGE = 500;

/** The durable side of the knowledge base. A document appears, changes and vanishes in one step. */
export class KnowledgeStore {
  readonly #redis: Redis;
  readonly #tag: string;

  /** @param options.prefix as for the conversations, default `tk` */
  constructor(options: { redis: Redis; prefix?: string }) {
    this.#redis = options.redis;
    this.#tag = `{${options.prefix ?? 'tk'}kb}`;
  }

  // --- what readers ask -----------------------------------------------------------------------------------------------

  async revision(): Promise<number> {
    return Number((await this.#redis.get(this.#key('revision'))) ?? 0);
  }

  /** Every document with the fingerprint of its record. */
  async fingerprints(): Promise<ReadonlyMap<string, string>> {
    return new Map(Object.entries(await this.#redis.hgetall(this.#key('docs'))));
  }

  async document(id: string): Promise<StoredDocument | undefined> {
    return decode(id, await this.#redis.hgetall(this.#key('doc', id)));
  }

  async documents(ids: readonly string[]): Promise<StoredDocument[]> {
    const found = await Promise.all(ids.map((id) => this.document(id)));
    return found.filter((document) => document !== undefined);
  }

  /** The chunks that exist, in the order asked for. */
  async chunks(ids: readonly string[]): Promise<LoadedChunk[]> {
    const loaded: LoadedChunk[] = [];
    for (const page of pages(ids)) {
      const rows = await Promise.all(
        page.map((id) =>
          this.#redis.hmgetBuffer(this.#key('chunk', id), 'text', 'model', 'vector'),
        ),
      );
      rows.forEach(([text, model, vector], at) => {
        if (!text || !model || !vector) return;
        loaded.push({
          id: page[at] ?? '',
          text: text.toString(),
          model: model.toString(),
          vector: floats(vector),
        });
      });
    }
    return loaded;
  }

  /** Texts by chunk. */
  async texts(ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const rows = await Promise.all(
      ids.map((id) => this.#redis.hget(this.#key('chunk', id), 'text')),
    );
    return new Map(rows.flatMap((text, at) => (text === null ? [] : [[ids[at] ?? '', text]])));
  }

  // --- what the indexer does ------------------------------------------------------------------------------------------

  /** Those of the chunks that have a vector of this model and dimension. */
  async embedded(
    ids: readonly string[],
    model: string,
    dimension: number,
  ): Promise<ReadonlySet<string>> {
    const known = new Set<string>();
    for (const page of pages(ids)) {
      const rows = await Promise.all(
        page.map((id) => this.#redis.hmget(this.#key('chunk', id), 'model', 'dimension')),
      );
      rows.forEach(([storedModel, storedDimension], at) => {
        if (storedModel === model && Number(storedDimension) === dimension)
          known.add(page[at] ?? '');
      });
    }
    return known;
  }

  /** Keeps what a call has embedded, at once and together; the documents follow when all their chunks are there. */
  async putVectors(
    model: string,
    chunks: readonly (ChunkVector & { documentId: string })[],
  ): Promise<void> {
    const step = this.#redis.multi();
    for (const { id, documentId, text, vector } of chunks) {
      step.hset(this.#key('chunk', id), {
        text,
        model,
        dimension: vector.length,
        vector: Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength),
      });
      step.sadd(this.#key('chunks', documentId), id);
    }
    await step.exec();
  }

  /** Puts a document in the place of its earlier version and drops the chunks it no longer has. */
  async putDocument(document: StoredDocument): Promise<{ changed: boolean; dropped: string[] }> {
    const { id, chunks, ...head } = document;
    const places = JSON.stringify(chunks);
    const { hash, title, url = '', model, dimension, source } = document;
    const fingerprint = digest(hash, title, url, source, model, String(dimension), places);
    const kept = new Set(chunks.map((chunk) => chunk.id));
    const [before, stored] = await Promise.all([
      this.#redis.hget(this.#key('docs'), id),
      this.#redis.smembers(this.#key('chunks', id)),
    ]);
    const dropped = stored.filter((chunk) => !kept.has(chunk));
    if (before === fingerprint && dropped.length === 0) return { changed: false, dropped };
    const step = this.#redis.multi();
    step.del(this.#key('doc', id));
    step.hset(this.#key('doc', id), { ...head, url, chunks: places });
    step.hset(this.#key('docs'), id, fingerprint);
    this.#dropChunks(step, id, dropped);
    step.incr(this.#key('revision'));
    await step.exec();
    return { changed: true, dropped };
  }

  /** @returns the chunks that went with it; undefined when there is no such document */
  async removeDocument(id: string): Promise<string[] | undefined> {
    const stored = await this.#redis.smembers(this.#key('chunks', id));
    const step = this.#redis.multi();
    step.del(this.#key('doc', id));
    step.hdel(this.#key('docs'), id);
    this.#dropChunks(step, id, stored);
    step.incr(this.#key('revision'));
    const replies = await step.exec();
    const existed = Number(replies?.[0]?.[1] ?? 0) > 0;
    return existed || stored.length > 0 ? stored : undefined;
  }

  #dropChunks(step: ReturnType<Redis['multi']>, id: string, chunks: readonly string[]): void {
    for (const page of pages(chunks)) {
      step.del(...page.map((chunk) => this.#key('chunk', chunk)));
      step.srem(this.#key('chunks', id), ...page);
    }
  }

  #key(kind: Kind, id?: string): string {
    return id === undefined ? `${this.#tag}:${kind}` : `${this.#tag}:${kind}:${id}`;
  }
}

function decode(id: string, fields: Record<string, string>): StoredDocument | undefined {
  const { title = '', url = '', source = '', text, version = '', hash = '', model = '' } = fields;
  if (text === undefined) return undefined;
  return {
    ...{ id, title, source, text, version, hash, model },
    ...(url === '' ? {} : { url }),
    dimension: Number(fields['dimension']),
    indexedAt: Number(fields['indexedAt']),
    chunks: JSON.parse(fields['chunks'] ?? '[]') as ChunkPlace[],
  };
}

/** A copy: what the driver hands out is not aligned to four bytes. */
function floats(bytes: Buffer): Float32Array {
  const vector = new Float32Array(bytes.byteLength / 4);
  new Uint8Array(vector.buffer).set(bytes);
  return vector;
}

function pages<T>(list: readonly T[]): T[][] {
  return Array.from({ length: Math.ceil(list.length / PAGE) }, (_, at) =>
    list.slice(at * PAGE, (at + 1) * PAGE),
  );
}
