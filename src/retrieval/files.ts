import { globSync, readFileSync, statSync } from 'node:fs';
import { basename, extname, join, relative, resolve } from 'node:path';
import { InvalidInputError } from '../contracts/index.ts';
import { READABLE, type Readable } from './extract.ts';
import type { SourceFile } from './prepare.ts';

/** The readable files of folders and files, in order of their ids. Other files of a folder are passed over. */
export type FoundFiles = { files: readonly SourceFile[]; ignored: readonly string[] };

/**
 * A file's id is its path below the folder that was named, without its ending; for a file that was named itself, its name.
 *
 * @throws InvalidInputError when a path does not exist, a named file cannot be read, or two files would share an id
 */
export function findFiles(paths: readonly string[]): FoundFiles {
  const files = new Map<string, SourceFile>();
  const ignored: string[] = [];
  for (const path of paths) {
    const stats = statSync(path, { throwIfNoEntry: false });
    if (stats === undefined) throw new InvalidInputError('file', path, 'does not exist');
    const found = stats.isDirectory()
      ? globSync('**/*', { cwd: path })
          .map((name) => join(path, name))
          .filter(isFile)
      : [path];
    const root = stats.isDirectory() ? path : join(path, '..');
    for (const file of found) {
      const as = readableAs(file);
      if (as === undefined) {
        if (!stats.isDirectory()) {
          const endings = Object.keys(READABLE).join(', ');
          throw new InvalidInputError('file', file, `must be one of ${endings}`);
        }
        ignored.push(file);
        continue;
      }
      const id = idOf(relative(root, file));
      const other = files.get(id);
      if (other !== undefined && resolve(other.source) !== resolve(file)) {
        throw new InvalidInputError(
          'file',
          file,
          `would have the id of ${other.source}; rename one`,
        );
      }
      files.set(id, { id, source: file, bytes: readFileSync(file), as });
    }
  }
  const sorted = [...files.values()].toSorted((a, b) => (a.id < b.id ? -1 : 1));
  return { files: sorted, ignored };
}

function isFile(path: string): boolean {
  return !basename(path).startsWith('.') && statSync(path).isFile();
}

function readableAs(file: string): Readable | undefined {
  const ending = extname(file).toLowerCase();
  return Object.entries(READABLE).find(([known]) => known === ending)?.[1];
}

/** Letters, digits and `-`, `.`, `_`, `/`: an id stands in citations, where `@` and `#` separate. */
function idOf(path: string): string {
  return path
    .slice(0, path.length - extname(path).length)
    .replaceAll('\\', '/')
    .replaceAll(/[^\p{L}\p{N}./_-]+/gu, '-');
}
