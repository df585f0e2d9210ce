import { once } from 'node:events';
import { createWriteStream, type WriteStream } from 'node:fs';
import { finished } from 'node:stream/promises';
import type { BadRow } from './bad-row.ts';
import { usageError } from './errors.ts';
import type { Row } from './message-rows.ts';

/**
 * The rows that were refused, as JSON lines: each as it was read, with what is wrong with it under `rejected`. Corrected in
 * there, the file can be handed in as it is. It is written anew, and only once there is a bad row.
 */
export class RejectedRows {
  readonly #path: string;
  #file: WriteStream | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  /** Where they are; null as long as there is none. */
  get path(): string | null {
    return this.#file === undefined ? null : this.#path;
  }

  /** @throws CommandError when the file cannot be written */
  async write(row: Row, bad: BadRow): Promise<void> {
    await this.#orSay(async () => {
      this.#file ??= await opened(this.#path);
      if (this.#file.errored !== null) throw this.#file.errored;
      // Whoever reads slower than we write is waited for.
      if (!this.#file.write(`${JSON.stringify(withReason(row, bad))}\n`)) {
        await once(this.#file, 'drain');
      }
    });
  }

  /** @throws CommandError when the file cannot be written to its end */
  async end(): Promise<void> {
    const file = this.#file;
    if (file === undefined) return;
    await this.#orSay(async () => {
      file.end();
      await finished(file);
    });
  }

  async #orSay(act: () => Promise<void>): Promise<void> {
    try {
      await act();
    } catch (error) {
      const why = error instanceof Error && 'code' in error ? String(error.code) : String(error);
      throw usageError(
        `${this.#path} cannot be written (${why}): name a file for the bad rows with --rejected`,
      );
    }
  }
}

async function opened(path: string): Promise<WriteStream> {
  // It holds what customers wrote: nobody else's to read.
  const file = createWriteStream(path, { mode: 0o600 });
  // A write that fails later is met by whoever waits for the next one, or for the end.
  file.on('error', () => {});
  await once(file, 'open');
  return file;
}

/** `export.csv` → `export.rejected.jsonl`. */
export function rejectedBeside(file: string): string {
  return `${file.replace(/\.[^./\\]+$/, '')}.rejected.jsonl`;
}

function withReason(row: Row, rejected: BadRow): object {
  if ('broken' in row) return { rejected, text: row.text };
  const { value } = row;
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  return isObject ? { ...value, rejected } : { rejected, text: JSON.stringify(value) };
}
