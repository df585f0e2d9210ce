import MiniSearch from 'minisearch';
import type { Scored, WordCounts } from './ports.ts';
import { concept } from './synonyms.ts';
import { contentWords } from './words.ts';

export type LexicalEntry = { chunkId: string; title: string; heading: string; text: string };

/** Chunks that may contain a word before it can be too common to search for. */
const COMMON = 1_000;

/** BM25 over the words of every chunk, by what they stand for. */
export class LexicalIndex {
  readonly #search = new MiniSearch<LexicalEntry>({
    idField: 'chunkId',
    fields: ['text', 'heading', 'title'],
    tokenize: contentWords,
    processTerm: concept,
  });
  /** Chunks by word, as BM25 counts them but whole. */
  readonly #containing = new Map<string, number>();
  readonly #concepts = new Map<string, ReadonlySet<string>>();

  add(entry: LexicalEntry): void {
    this.remove(entry.chunkId);
    this.#search.add(entry);
    const concepts = new Set(
      contentWords(`${entry.title} ${entry.heading} ${entry.text}`).map(concept),
    );
    this.#concepts.set(entry.chunkId, concepts);
    this.#count(concepts, 1);
  }

  remove(chunkId: string): void {
    const concepts = this.#concepts.get(chunkId);
    if (concepts === undefined) return;
    this.#search.discard(chunkId);
    this.#concepts.delete(chunkId);
    this.#count(concepts, -1);
  }

  /** Best first. A word of a thousand chunks and of most of them tells nothing and costs the most: it is left out. */
  match(question: string, count: number): Scored[] {
    const asked = contentWords(question);
    const most = Math.max(COMMON, this.#concepts.size / 2);
    const telling = asked.filter((word) => (this.#containing.get(concept(word)) ?? 0) <= most);
    return this.#search
      .search((telling.length > 0 ? telling : asked).join(' '), { combineWith: 'OR' })
      .slice(0, count)
      .map(({ id, score }) => ({ chunkId: String(id), score }));
  }

  counts(question: string): WordCounts {
    const asked = new Set(contentWords(question).map(concept));
    return {
      chunks: this.#concepts.size,
      containing: new Map([...asked].map((word) => [word, this.#containing.get(word) ?? 0])),
    };
  }

  #count(concepts: ReadonlySet<string>, by: number): void {
    for (const word of concepts) {
      const count = (this.#containing.get(word) ?? 0) + by;
      if (count === 0) this.#containing.delete(word);
      else this.#containing.set(word, count);
    }
  }
}
