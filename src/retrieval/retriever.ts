import type {
  Candidate,
  Embedder,
  LexicalSearch,
  Retriever,
  Scored,
  VectorSearch,
} from './ports.ts';
import { joinRanks } from './recall.ts';

export type RetrieverParts = {
  embedder: Embedder;
  vectors: VectorSearch;
  lexical: LexicalSearch;
  /** What stands behind the chunks that are still there. */
  passages(chunkIds: readonly string[]): Promise<readonly Passage[]>;
};
export type Passage = Omit<Candidate, 'vectorScore' | 'lexicalScore'>;

/** Recall by meaning and by words: the question is embedded, both searches run, their ranks are joined. */
export function hybridRetriever({
  embedder,
  vectors,
  lexical,
  passages,
}: RetrieverParts): Retriever {
  return {
    async retrieve(question, count, signal) {
      const [embedded, { matches, words }] = await Promise.all([
        embedder.embed([question], signal),
        lexical.match(question, count),
      ]);
      const [vector] = embedded.vectors;
      const near = vector === undefined ? [] : await vectors.nearest(vector, count, signal);
      const ids = joinRanks([near, matches], count);
      const vectorScores = scores(near);
      const lexicalScores = scores(matches);
      const candidates = (await passages(ids)).map((passage): Candidate => ({
        ...passage,
        vectorScore: vectorScores.get(passage.chunkId) ?? null,
        lexicalScore: lexicalScores.get(passage.chunkId) ?? null,
      }));
      return { candidates, words, costMicros: embedded.costMicros };
    },
  };
}

function scores(list: readonly Scored[]): ReadonlyMap<string, number> {
  return new Map(list.map(({ chunkId, score }) => [chunkId, score]));
}
