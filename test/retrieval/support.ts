import { createHash, randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { inject, onTestFinished } from 'vitest';
import { normalised } from '../../src/retrieval/offline/word-vectors.ts';
import type { Candidate, Embedder, Ranked } from '../../src/retrieval/ports.ts';
import type { SourceFile } from '../../src/retrieval/prepare.ts';
import { wordsOf } from '../../src/retrieval/words.ts';
import { connect } from '../../src/store/index.ts';
import { KnowledgeStore } from '../../src/store/knowledge.ts';

/** A knowledge base of its own on the real Redis of the run. */
export function openStore() {
  const redis = connect(inject('redisUrl'));
  const prefix = `k${randomUUID().slice(0, 8)}-`;
  onTestFinished(async () => {
    await redis.quit();
  });
  const keys = (): Promise<string[]> => redis.keys(`{${prefix}kb}:*`);
  return { redis, prefix, keys, store: new KnowledgeStore({ redis, prefix }) };
}

/** Equal words, near vectors: enough to find things by, and it counts what it was asked. */
export function countingEmbedder(options: { model?: string; dimension?: number } = {}) {
  const { model = 'test/words', dimension = 64 } = options;
  const asked: string[] = [];
  const embedder: Embedder = {
    ...{ model, dimension, batchSize: 8 },
    embed: (texts) => {
      asked.push(...texts);
      const vectors = texts.map((text) => wordVectorOf(text, dimension));
      return Promise.resolve({ vectors, tokens: texts.length, costMicros: texts.length });
    },
  };
  return { embedder, asked };
}

export function wordVectorOf(text: string, dimension: number): Float32Array {
  const vector = new Float32Array(dimension);
  for (const word of wordsOf(text)) {
    const bytes = createHash('sha256').update(word).digest();
    const at = bytes.readUInt32LE(0) % dimension;
    vector[at] = (vector[at] ?? 0) + ((bytes[4] ?? 0) % 2 === 0 ? 1 : -1);
  }
  return normalised(vector);
}

export function markdown(id: string, text: string): SourceFile {
  return { id, source: `${id}.md`, bytes: Buffer.from(text), as: 'markdown' };
}

/** A folder with the files, gone after the test. */
export function folder(files: Readonly<Record<string, string>>): string {
  const root = mkdtempSync(join(tmpdir(), 'turnkeeper-kb-'));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), text);
  }
  return root;
}

export function candidate(overrides: Partial<Candidate> = {}): Candidate {
  return {
    ...{ chunkId: 'c1', documentId: 'returns', version: 'abc123abc123', title: 'Returns' },
    ...{ heading: 'How long', text: 'Unused items can be returned within 30 days.' },
    ...{ start: 0, end: 44, vectorScore: 0.5, lexicalScore: 3 },
    ...overrides,
  };
}

export function ranked(rerankScore: number, overrides: Partial<Candidate> = {}): Ranked {
  return { ...candidate(overrides), rerankScore };
}
