import {
  openSync,
  closeSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { RedisOrigin } from './redis-server.ts';

export type Running = { pid: number; port: number; origin: RedisOrigin };

/** Who holds the lock does so for one synchronous step; a lock older than this (ms) was left by a process that died in it. */
const LEFT_BEHIND_MS = 5_000;

/** `running.json` in a data folder: which server works on it. Two servers on one append-only file would ruin it. */
export class RunningNote {
  readonly #file: string;
  readonly #lock: string;

  constructor(dataDir: string) {
    this.#file = join(dataDir, 'running.json');
    this.#lock = join(dataDir, 'starting.lock');
  }

  /** What the note says; when there is none, starts a server and notes it. Only one process at a time gets that far. */
  async readOrWrite(start: () => Running): Promise<Running> {
    while (!this.#takeLock()) await pause(20);
    try {
      const noted = this.#read();
      if (noted !== undefined) return noted;
      const running = start();
      // Readers see all of it or nothing.
      writeFileSync(`${this.#file}.new`, JSON.stringify(running));
      renameSync(`${this.#file}.new`, this.#file);
      return running;
    } finally {
      rmSync(this.#lock, { force: true });
    }
  }

  /** Takes the note away unless it is about another server by now. */
  remove({ pid, port }: Running): void {
    const noted = this.#read();
    if (noted?.pid === pid && noted.port === port) rmSync(this.#file, { force: true });
  }

  #read(): Running | undefined {
    try {
      return JSON.parse(readFileSync(this.#file, 'utf8')) as Running;
    } catch {
      return undefined;
    }
  }

  #takeLock(): boolean {
    try {
      closeSync(openSync(this.#lock, 'wx'));
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    const takenAt = statSync(this.#lock, { throwIfNoEntry: false })?.mtimeMs ?? Date.now();
    if (Date.now() - takenAt > LEFT_BEHIND_MS) rmSync(this.#lock, { force: true });
    return false;
  }
}
