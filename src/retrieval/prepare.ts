import { digest, sha256 } from '../loop/index.ts';
import { chunksOf } from './chunk.ts';
import { extract, type Readable } from './extract.ts';

/** A file that is to become a document. */
export type SourceFile = { id: string; source: string; bytes: Uint8Array; as: Readable };

export type PreparedChunk = {
  id: string;
  start: number;
  end: number;
  heading: string;
  text: string;
  /** What is embedded: the passage below the names it stands under. */
  embedded: string;
};
export type PreparedDocument = {
  id: string;
  title: string;
  url?: string;
  source: string;
  text: string;
  version: string;
  hash: string;
  chunks: readonly PreparedChunk[];
};

/**
 * Text, version and chunks of a file. A chunk's id is made of the document and of what is embedded, so it stays when
 * something else in the document changes. @throws InvalidInputError
 */
export function prepare({ id, source, bytes, as }: SourceFile): PreparedDocument {
  const { title, url, text, kind } = extract(source, bytes, as);
  const hash = sha256(text);
  const seen = new Map<string, number>();
  const chunks = chunksOf(text, kind).map(({ start, end, heading }): PreparedChunk => {
    const part = text.slice(start, end);
    const embedded = [title, heading, part].filter((line) => line !== '').join('\n');
    const repeat = seen.get(embedded) ?? 0;
    seen.set(embedded, repeat + 1);
    const chunkId = digest('chunk', id, embedded, String(repeat));
    return { id: chunkId, start, end, heading, text: part, embedded };
  });
  return {
    ...{ id, title, source, text, hash, chunks },
    version: hash.slice(0, 12),
    ...(url === undefined ? {} : { url }),
  };
}
