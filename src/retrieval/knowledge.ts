import { InvalidInputError } from '../contracts/index.ts';
import { KnowledgeStore, type StoredDocument } from '../store/knowledge.ts';
import { calibrated, shippedCalibration, type Calibration } from './calibration.ts';
import { gate } from './gate.ts';
import type { SupportJudge } from './judge.ts';
import { LiveIndex } from './live-index.ts';
import { offlineEmbedder } from './offline/offline-embedder.ts';
import { offlineReranker } from './offline/offline-reranker.ts';
import type { Embedder, ExternalVectors, Reranker, SearchStep } from './ports.ts';
import { hybridRetriever } from './retriever.ts';
import { requireCalibration, search, type SearchResult } from './search.ts';

/** The knowledge of an agent. Everything may be left out: then nothing outside of this machine is asked. */
export type KnowledgeOptions = {
  /** Default: static word vectors of this package. */
  embedder?: Embedder;
  /** Default: lexical and vector evidence, weighed. */
  reranker?: Reranker;
  /** Made by `kb eval --calibrate` for these two. Default: the shipped one, for the two defaults only. */
  calibration?: Calibration;
  /** Says whether a cited passage states a claim, after its words were compared. Default: the words decide. */
  citationJudge?: SupportJudge;
  /** Keeps the vectors outside of Redis. */
  vectors?: ExternalVectors;
  /** What the agent can still do when no document answers; shown to the customer. Default: the topics of its documents. */
  menu?: readonly string[];
  /** Sees every step of every search, for metrics. Must not throw. */
  observe?(step: SearchStep): void;
};

/** The options with the defaults in place. */
export type KnowledgeParts = KnowledgeOptions &
  Required<Pick<KnowledgeOptions, 'embedder' | 'reranker'>>;

export function knowledgeParts(options: KnowledgeOptions = {}): KnowledgeParts {
  if (options.menu?.length === 0) {
    throw new InvalidInputError(
      'knowledge.menu',
      options.menu,
      'must name at least one thing the agent can do',
    );
  }
  return {
    ...options,
    embedder: options.embedder ?? offlineEmbedder(),
    reranker: options.reranker ?? offlineReranker(),
  };
}

/** What a search found: passages, or none and what the agent can still do. */
export interface Knowledge {
  search(question: string, signal?: AbortSignal): Promise<SearchResult>;
  menu(): readonly string[];
  /** The documents as they are now, for `checkClaims`. */
  documents(ids: readonly string[]): Promise<StoredDocument[]>;
  close(): Promise<void>;
}

/** Topics of the default menu. */
const MOST_TOPICS = 8;

/**
 * Opens the knowledge base for searching. The documents are loaded with the first search.
 *
 * @throws InvalidInputError when the calibration was not made for these parts
 */
export function openKnowledge(store: KnowledgeStore, options: KnowledgeOptions = {}): Knowledge {
  const parts = knowledgeParts(options);
  const calibration = options.calibration ?? shippedCalibration();
  requireCalibration(calibration, parts.embedder, parts.reranker);
  return openUncalibrated(store, parts, (raw) => calibrated(raw, calibration));
}

/** The same with a scale of the caller's own, for making a calibration. */
export function openUncalibrated(
  store: KnowledgeStore,
  { embedder, reranker, vectors, menu, observe }: KnowledgeParts,
  scale: (raw: number) => number,
): Knowledge {
  const live = new LiveIndex(store, embedder);
  const retriever = hybridRetriever({
    embedder,
    vectors: vectors ?? live.scanner,
    lexical: live.scanner,
    passages: (ids) => live.passages(ids),
  });
  const parts = {
    ...{ retriever, reranker, scale, gate: gate() },
    ...(observe === undefined ? {} : { observe }),
  };
  return {
    async search(question, signal) {
      await live.follow();
      return search(parts, question, signal);
    },
    menu: () => menu ?? topics(live.titles()),
    documents: (ids) => store.documents(ids),
    close: () => live.close(),
  };
}

function topics(titles: readonly string[]): string[] {
  const shown = titles.slice(0, MOST_TOPICS).map((title) => `Answer questions about: ${title}`);
  return [...shown, 'Pass the question on to a colleague'];
}
