import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { TurnkeeperError } from '../contracts/index.ts';
import type { LexicalEntry } from './lexical.ts';
import type { LexicalSearch, Scored, VectorSearch } from './ports.ts';
import type { ScanReply, ScanRequest } from './scan-worker.ts';

/** The scanning thread ended. It is started again with the next knowledge base that is opened. */
export class ScannerError extends TurnkeeperError {
  readonly code = 'scanner_lost';
  override readonly retryable = true;
}

export type ScannedChunk = LexicalEntry & { vector: Float32Array };

type Waiter = { resolve: (reply: ScanReply) => void; reject: (error: Error) => void };

/**
 * Scans vectors and words in a thread of its own. The vectors stand in one buffer that both threads see, so a scan copies
 * nothing. Changes and scans run one after the other: a scan sees a change whole or not at all.
 */
export class Scanner implements VectorSearch, LexicalSearch {
  readonly #dimension: number;
  readonly #worker: Worker;
  readonly #waiting = new Map<number, Waiter>();
  #calls = 0;
  #vectors: Float32Array<SharedArrayBuffer>;
  #used: Uint8Array<SharedArrayBuffer>;
  /** Chunk by row. A row whose chunk was removed is filled again. */
  readonly #chunks: (string | undefined)[] = [];
  readonly #rows = new Map<string, number>();
  readonly #free: number[] = [];
  #last: Promise<unknown> = Promise.resolve();
  #lost: Error | undefined;

  constructor(dimension: number) {
    this.#dimension = dimension;
    this.#vectors = new Float32Array(new SharedArrayBuffer(0));
    this.#used = new Uint8Array(new SharedArrayBuffer(0));
    // The same file as TypeScript in this repository and as JavaScript in the package.
    const ending = extname(fileURLToPath(import.meta.url));
    this.#worker = new Worker(new URL(`scan-worker${ending}`, import.meta.url));
    this.#worker.unref();
    this.#worker.on('message', ({ id, reply }: { id: number; reply: ScanReply }) => {
      this.#waiting.get(id)?.resolve(reply);
      this.#settled(id);
    });
    this.#worker.on('error', (error) => this.#end(error));
    this.#worker.on('exit', () => this.#end());
  }

  get size(): number {
    return this.#rows.size;
  }

  change(add: readonly ScannedChunk[], remove: readonly string[]): Promise<void> {
    return this.#inOrder(async () => {
      for (const chunkId of remove) this.#empty(chunkId);
      await this.#grow(this.#rows.size + add.length);
      for (const { chunkId, vector } of add) this.#fill(chunkId, vector);
      const entries = add.map(({ chunkId, title, heading, text }) => {
        return { chunkId, title, heading, text };
      });
      await this.#ask({ kind: 'change', add: entries, remove });
    });
  }

  nearest(vector: Float32Array, count: number): Promise<Scored[]> {
    return this.#inOrder(async () => {
      const rows = this.#chunks.length;
      const reply = await this.#ask({ kind: 'nearest', vector, rows, count });
      if (reply.kind !== 'nearest') throw new ScannerError('the scanner gave no vectors');
      return reply.rows.flatMap(({ row, score }) => {
        const chunkId = this.#chunks[row];
        return chunkId === undefined ? [] : [{ chunkId, score }];
      });
    });
  }

  match(question: string, count: number): ReturnType<LexicalSearch['match']> {
    return this.#inOrder(async () => {
      const reply = await this.#ask({ kind: 'match', question, count });
      if (reply.kind !== 'match') throw new ScannerError('the scanner gave no words');
      return reply;
    });
  }

  async close(): Promise<void> {
    await this.#worker.terminate();
  }

  #fill(chunkId: string, vector: Float32Array): void {
    const row = this.#rows.get(chunkId) ?? this.#free.pop() ?? this.#chunks.length;
    this.#vectors.set(vector, row * this.#dimension);
    this.#used[row] = 1;
    this.#chunks[row] = chunkId;
    this.#rows.set(chunkId, row);
  }

  #empty(chunkId: string): void {
    const row = this.#rows.get(chunkId);
    if (row === undefined) return;
    this.#used[row] = 0;
    this.#chunks[row] = undefined;
    this.#rows.delete(chunkId);
    this.#free.push(row);
  }

  /** Makes room; doubled each time, so that filling row by row stays cheap. */
  async #grow(wanted: number): Promise<void> {
    const room = this.#used.length;
    if (wanted <= room && room > 0) return;
    const rows = Math.max(64, 2 * room, wanted);
    const vectors = new Float32Array(new SharedArrayBuffer(4 * rows * this.#dimension));
    const used = new Uint8Array(new SharedArrayBuffer(rows));
    vectors.set(this.#vectors);
    used.set(this.#used);
    [this.#vectors, this.#used] = [vectors, used];
    const dimension = this.#dimension;
    await this.#ask({ kind: 'share', vectors: vectors.buffer, used: used.buffer, dimension });
  }

  #inOrder<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#last.then(work);
    this.#last = done.catch(() => {});
    return done;
  }

  #ask(request: ScanRequest): Promise<ScanReply> {
    if (this.#lost !== undefined) return Promise.reject(this.#lost);
    const id = (this.#calls += 1);
    const reply = new Promise<ScanReply>((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
    });
    // Somebody waits: the process must not end before the answer.
    this.#worker.ref();
    this.#worker.postMessage({ id, request });
    return reply;
  }

  #settled(id: number): void {
    this.#waiting.delete(id);
    if (this.#waiting.size === 0) this.#worker.unref();
  }

  #end(cause?: unknown): void {
    this.#lost ??= new ScannerError('the scanning thread has ended', { cause });
    for (const { reject } of this.#waiting.values()) reject(this.#lost);
    this.#waiting.clear();
  }
}
