import { fileURLToPath } from 'node:url';
import type { Turnkeeper } from '../../../src/index.ts';
import {
  findFiles,
  indexFiles,
  KnowledgeStore,
  offlineEmbedder,
  type IndexReport,
} from '../../../src/retrieval/index.ts';

const DOCUMENTS = fileURLToPath(new URL('../knowledge', import.meta.url));

/** Puts TechNova's help pages into the knowledge base of a store, as `turnkeeper kb index` does. */
export function indexDocuments({ redis, prefix }: Turnkeeper['store']): Promise<IndexReport> {
  const store = new KnowledgeStore({ redis, prefix });
  return indexFiles({ store, embedder: offlineEmbedder() }, findFiles([DOCUMENTS]).files);
}
