import type { Readable } from 'node:stream';
import { bar, liveProgress, noProgress, Pace, type LiveProgress } from './live-progress.ts';
import type { Output } from './output.ts';

/** What is read, and how far it goes where that is known. */
export type Input = { stream: Readable; bytes?: number; bytesRead?: () => number };

export type Read = { accepted: number; known: number; bad: number };

/** Who waits for less sees nothing of it. Milliseconds. */
const QUIET_MS = 1_000;
const EVERY_MS = 200;

/** How far a file of messages is read: `[####....] 41 % · 20,480 accepted, 12 known, 1 bad · 3,100/s`. */
export class ReadProgress {
  readonly #input: Input;
  readonly #out: Output;
  readonly #pace = new Pace();
  #live: LiveProgress | undefined;
  #nextAt = Date.now() + QUIET_MS;

  constructor(input: Input, out: Output) {
    this.#input = input;
    this.#out = out;
  }

  /** Called for each row; mostly it is only a look at the clock. */
  async look(read: Read): Promise<void> {
    const now = Date.now();
    if (now < this.#nextAt) return;
    this.#nextAt = now + EVERY_MS;
    this.#live ??= this.#out.isText
      ? await liveProgress((line) => this.#out.note(line))
      : noProgress;
    this.#live.show(this.#line(read, now));
  }

  async end(read: Read): Promise<void> {
    await this.#live?.end(this.#line(read, Date.now()));
  }

  #line(read: Read, now: number): string {
    const { bytes = 0, bytesRead } = this.#input;
    const share = bytes > 0 && bytesRead !== undefined ? bytesRead() / bytes : undefined;
    const { accepted, known, bad } = read;
    const perSecond = this.#pace.look(accepted + known + bad, now);
    return [
      ...(share === undefined ? [] : [`${bar(share)} ${Math.floor(100 * share)} %`]),
      `${shown(accepted)} accepted, ${shown(known)} known, ${shown(bad)} bad`,
      ...(perSecond === undefined ? [] : [`${shown(Math.round(perSecond))}/s`]),
    ].join(' · ');
  }
}

function shown(value: number): string {
  return value.toLocaleString('en-US');
}
