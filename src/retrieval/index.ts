export { readCalibration, type Calibration } from './calibration.ts';
export { citationsOf } from './citations.ts';
export { judgeClaims } from './cite-judge.ts';
export {
  checkClaims,
  citationOf,
  citedDocuments,
  isCitation,
  parseCitation,
  type CheckedClaims,
  type Citation,
  type LocatedRange,
  type Objection,
} from './cite.ts';
export { findFiles } from './files.ts';
export { GATE_THRESHOLD, TOP_K } from './gate.ts';
export { EndpointError } from './http-errors.ts';
export { httpReranker, type HttpRerankerOptions } from './http-reranker.ts';
export { indexFiles, type IndexReport } from './indexer.ts';
export { judgeReranker, supportJudge, type JudgeOptions, type SupportJudge } from './judge.ts';
export {
  knowledgeParts,
  openKnowledge,
  type Knowledge,
  type KnowledgeOptions,
  type KnowledgeParts,
} from './knowledge.ts';
export { offlineEmbedder } from './offline/offline-embedder.ts';
export { offlineReranker } from './offline/offline-reranker.ts';
export { openAiEmbedder, type OpenAiEmbedderOptions } from './openai-embedder.ts';
export type * from './ports.ts';
export { renderCitations, withoutClaims } from './render-citations.ts';
export { searchMetrics } from './search-metrics.ts';
export { searchKnowledge, type KnowledgeAnswer } from './search-tool.ts';
export { KnowledgeStore } from '../store/knowledge.ts';
