import { findFiles } from '../../src/retrieval/files.ts';
import { indexFiles } from '../../src/retrieval/indexer.ts';
import { openAiEmbedder } from '../../src/retrieval/openai-embedder.ts';
import { connect } from '../../src/store/index.ts';
import { KnowledgeStore } from '../../src/store/knowledge.ts';

/** Indexes a folder in a process of its own: redis URL, prefix, folder, endpoint. */
const [url = '', prefix = '', folder = '', baseUrl = ''] = process.argv.slice(2);
const redis = connect(url);
const store = new KnowledgeStore({ redis, prefix });
const embedder = openAiEmbedder({ model: 'm', dimension: 8, apiKey: 'k', baseUrl, attempts: 1 });
const report = await indexFiles({ store, embedder }, findFiles([folder]).files);
console.log(JSON.stringify(report));
await redis.quit();
