import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import type { Guard } from '../../crash/guard.ts';

const FILE = new URL('worker.ts', import.meta.url);

/** The worker processes, and who kills them: each in its turn, replaced at once. */
export class Fleet {
  kills = 0;
  /** Workers nobody had killed, and what they said. */
  readonly endedByThemselves: string[] = [];
  readonly #guard: Guard;
  readonly #environment: Record<string, string>;
  readonly #workers: ChildProcess[] = [];
  readonly #over = new AbortController();
  #killing: Promise<void> = Promise.resolve();

  private constructor(guard: Guard, environment: Record<string, string>) {
    this.#guard = guard;
    this.#environment = environment;
  }

  static async start(
    size: number,
    guard: Guard,
    environment: Record<string, string>,
  ): Promise<Fleet> {
    const fleet = new Fleet(guard, environment);
    fleet.#workers.push(
      ...(await Promise.all(Array.from({ length: size }, () => fleet.#launch()))),
    );
    return fleet;
  }

  /** Kills one worker after the other, so many milliseconds apart, until the fleet is closed. */
  killEvery(ms: number): void {
    this.#killing = this.#killAll(ms);
  }

  async close(): Promise<void> {
    this.#over.abort();
    await this.#killing;
    await Promise.all(this.#workers.map((worker) => this.#kill(worker)));
  }

  async #killAll(ms: number): Promise<void> {
    for (let place = 0; ; place = (place + 1) % this.#workers.length) {
      await pause(ms, undefined, { signal: this.#over.signal }).catch(() => {});
      const worker = this.#workers[place];
      if (this.#over.signal.aborted || worker === undefined) return;
      await this.#kill(worker);
      this.kills += 1;
      this.#workers[place] = await this.#launch();
    }
  }

  /** SIGKILL. */
  async #kill(worker: ChildProcess): Promise<void> {
    if (worker.exitCode !== null || worker.signalCode !== null) return;
    const ended = once(worker, 'close');
    worker.kill('SIGKILL');
    await ended;
  }

  /** Answers when the worker is ready, or has ended without being so. */
  async #launch(): Promise<ChildProcess> {
    const worker = fork(FILE, {
      env: { ...process.env, ...this.#environment },
      // Not the ones of the process we run in, such as a test runner's.
      execArgv: [],
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    });
    const { pid } = worker;
    if (pid !== undefined) this.#guard.started(pid);
    let complaint = '';
    worker.stderr?.setEncoding('utf8').on('data', (text: string) => {
      complaint = (complaint + text).slice(-2_000);
    });
    const ended = once(worker, 'close').then(() => {
      if (pid !== undefined) this.#guard.ended(pid);
      if (worker.signalCode === 'SIGKILL') return;
      this.endedByThemselves.push(`${worker.exitCode ?? worker.signalCode}: ${complaint.trim()}`);
    });
    await Promise.race([once(worker, 'message'), ended]);
    return worker;
  }
}
