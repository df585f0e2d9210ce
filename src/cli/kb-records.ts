import type { Command } from 'commander';
import type { StoredDocument } from '../store/knowledge.ts';
import { notFound } from './errors.ts';
import { perform, type Invocation } from './invocation.ts';
import { withKnowledge } from './kb-connection.ts';
import type { ListView, Output } from './output.ts';
import { shorten, visible } from './visible-text.ts';
import { count, day, iso } from './wording.ts';

/** The JSON of a row of `kb list`. */
export type DocumentRow = {
  documentId: string;
  title: string;
  url: string | null;
  source: string;
  version: string;
  hash: string;
  chunks: number;
  characters: number;
  model: string;
  dimension: number;
  indexedAt: string;
};

/** The JSON of `kb show`. */
export type DocumentDetails = Omit<DocumentRow, 'chunks'> & {
  chunks: {
    chunkId: string;
    start: number;
    end: number;
    heading: string;
    evidence: string;
    text: string;
  }[];
};

export function addKbRecords(kb: Command): void {
  kb.command('list')
    .description('The documents that are indexed.')
    .action((_options: unknown, command: Command) => perform(command, list));
  kb.command('show')
    .description('A document with its chunks, and how each is cited.')
    .argument('<document>', 'see "turnkeeper kb list"')
    .action((id: string, _options: unknown, command: Command) =>
      perform(command, (invocation) => show(invocation, id)),
    );
  kb.command('remove')
    .description('Takes documents out of the index with everything that belongs to them.')
    .argument('<documents...>', 'see "turnkeeper kb list"')
    .action((ids: string[], _options: unknown, command: Command) =>
      perform(command, (invocation) => remove(invocation, ids)),
    );
}

const LIST: ListView<DocumentRow> = {
  id: (row) => row.documentId,
  columns: [
    { title: 'DOCUMENT', cell: (row) => row.documentId },
    { title: 'TITLE', cell: (row) => row.title },
    { title: 'VERSION', cell: (row) => row.version },
    { title: 'CHUNKS', cell: (row) => row.chunks },
    { title: 'MODEL', cell: (row) => row.model },
    { title: 'INDEXED', cell: (row) => day(Date.parse(row.indexedAt)) },
  ],
  empty: 'No documents. Index some with "turnkeeper kb index <folder>".',
};

async function list(invocation: Invocation): Promise<void> {
  const documents = await withKnowledge(invocation, async (store) =>
    store.documents([...(await store.fingerprints()).keys()].toSorted()),
  );
  invocation.out.list(documents.map(rowOf), LIST);
}

function rowOf(document: StoredDocument): DocumentRow {
  const { id, title, url = null, source, version, hash, model, dimension, indexedAt } = document;
  return {
    ...{ documentId: id, title, url, source, version, hash },
    chunks: document.chunks.length,
    characters: document.text.length,
    ...{ model, dimension },
    indexedAt: iso(indexedAt),
  };
}

async function show(invocation: Invocation, id: string): Promise<void> {
  const document = await withKnowledge(invocation, (store) => store.document(id));
  if (document === undefined) throw notFound('document', id, 'see "turnkeeper kb list"');
  const { out } = invocation;
  const { citationOf } = await import('../retrieval/cite.ts');
  const { version, text } = document;
  const details: DocumentDetails = {
    ...rowOf(document),
    chunks: document.chunks.map(({ id: chunkId, start, end, heading }) => ({
      ...{ chunkId, start, end, heading },
      evidence: citationOf({ documentId: id, version, start, end }),
      text: text.slice(start, end),
    })),
  };
  out.card(details, {
    id: (one) => one.documentId,
    rows: (one) => one.chunks,
    text: (one) => textOf(one, out),
  });
}

const TEXT_SHOWN = 160;

function textOf(details: DocumentDetails, out: Output): string {
  const { documentId, title, url, version, source, model, dimension, chunks } = details;
  return [
    out.strong(`${visible(documentId)}  ${visible(title)}`),
    `version ${version}, from ${visible(source)}${url === null ? '' : `, read at ${visible(url)}`}`,
    `${count(chunks.length, 'chunk')}, ${visible(model)}, ${dimension} numbers each`,
    ...chunks.flatMap(({ evidence, heading, text }) => [
      '',
      out.strong(visible(heading)),
      `  ${visible(evidence)}`,
      `  ${shorten(visible(text), TEXT_SHOWN)}`,
    ]),
  ].join('\n');
}

async function remove(invocation: Invocation, ids: readonly string[]): Promise<void> {
  const { knowledgeOptions } = await import('./kb-connection.ts');
  // Vectors that are kept elsewhere go too.
  const { vectors } = await knowledgeOptions(invocation, false);
  const removed = await withKnowledge(invocation, async (store) => {
    const rows: { documentId: string; chunks: number }[] = [];
    for (const documentId of ids) {
      const chunks = await store.removeDocument(documentId);
      if (chunks === undefined) throw notFound('document', documentId, 'see "turnkeeper kb list"');
      await vectors?.remove(chunks);
      rows.push({ documentId, chunks: chunks.length });
    }
    return rows;
  });
  invocation.out.list(removed, {
    id: (row) => row.documentId,
    columns: [
      { title: 'REMOVED', cell: (row) => row.documentId },
      { title: 'CHUNKS', cell: (row) => row.chunks },
    ],
    empty: '',
  });
}
