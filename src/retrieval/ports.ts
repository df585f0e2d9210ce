/** Turns texts into vectors. A vector belongs to its model and dimension and to no other. */
export interface Embedder {
  /** Names the vectors; another name means that everything is embedded again. */
  readonly model: string;
  readonly dimension: number;
  /** Most texts of one call. */
  readonly batchSize: number;
  /** One vector a text, in order, of length one. May throw; nothing of the call is kept then. */
  embed(texts: readonly string[], signal?: AbortSignal): Promise<Embedded>;
}
export type Embedded = {
  vectors: readonly Float32Array[];
  tokens: number;
  /** Micro-dollars. */
  costMicros: number;
};

export type Scored = { chunkId: string; score: number };

/** Finds the nearest vectors. The built-in one scans what is in Redis; an outside one keeps vectors of its own. */
export interface VectorSearch {
  /** Nearest first; the score is the cosine. */
  nearest(vector: Float32Array, count: number, signal?: AbortSignal): Promise<Scored[]>;
}

/** A vector store outside of Redis. It is told of every vector before Redis is, and may be told twice. */
export interface ExternalVectors extends VectorSearch {
  put(vectors: readonly { chunkId: string; vector: Float32Array }[]): Promise<void>;
  remove(chunkIds: readonly string[]): Promise<void>;
}

/** A passage that may hold the answer, with what the recall found it by. */
export type Candidate = {
  chunkId: string;
  documentId: string;
  version: string;
  title: string;
  url?: string;
  heading: string;
  text: string;
  start: number;
  end: number;
  /** Cosine of question and chunk, and BM25 score; null where that search did not find it. */
  vectorScore: number | null;
  lexicalScore: number | null;
};

/** In how many chunks a word of the question stands, by what it stands for (see `concept`). */
export type WordCounts = { chunks: number; containing: ReadonlyMap<string, number> };

/** Finds chunks by their words. */
export interface LexicalSearch {
  /** Best first, with what the question's words are worth in this knowledge base. */
  match(question: string, count: number): Promise<{ matches: Scored[]; words: WordCounts }>;
}

export type Recall = {
  candidates: readonly Candidate[];
  words: WordCounts;
  /** Micro-dollars of the question's embedding. */
  costMicros: number;
};

/** Recall: nothing that could answer may be missing; order matters little. */
export interface Retriever {
  retrieve(question: string, count: number, signal?: AbortSignal): Promise<Recall>;
}

/** Precision: how well each passage answers the question, in whatever scale the model has. */
export interface Reranker {
  /** Names the scale; a calibration belongs to it. */
  readonly name: string;
  /** One score a candidate, in their order; higher is better. May throw. */
  rerank(question: string, recall: Recall, signal?: AbortSignal): Promise<readonly number[]>;
}

/** A candidate with its calibrated score, 0 to 1. */
export type Ranked = Candidate & { rerankScore: number };

/** Lets the best through, or nothing. */
export interface Gate {
  readonly threshold: number;
  /** @param ranked best first */
  admit(ranked: readonly Ranked[]): readonly Ranked[];
}

/** One step of a search, for metrics: how long each part took and what it made of the question. */
export type SearchStep =
  | { part: 'retriever'; durationMs: number; candidates: number; costMicros: number }
  | { part: 'reranker'; durationMs: number; name: string; best: number | null }
  | { part: 'gate'; verdict: 'found' | 'no_result'; best: number | null; passages: number }
  /** The part threw, and the search with it. */
  | { part: 'failure'; of: 'retriever' | 'reranker'; durationMs: number };
