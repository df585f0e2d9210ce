import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { openSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import type { Guard } from '../crash/guard.ts';

export type KillableOptions = {
  guard: Guard;
  file: string;
  args?: readonly string[];
  environment: Readonly<Record<string, string>>;
  /** Where it writes what it has to complain about. */
  log: string;
};

/** A process that says `ready` on stdout, can be killed at any moment, and is then started again. */
export class Killable {
  kills = 0;
  /** Whether it has said that it is. */
  ready = false;
  /** How it ended although nobody had killed it. */
  readonly endedByItself: string[] = [];
  readonly #options: KillableOptions;
  #child: ChildProcess | undefined;
  #coming: Promise<void> = Promise.resolve();

  private constructor(options: KillableOptions) {
    this.#options = options;
  }

  /** Answers when it is ready. */
  static async start(options: KillableOptions): Promise<Killable> {
    const killable = new Killable(options);
    await killable.#launch();
    return killable;
  }

  /** SIGKILL; started again after `downMs`. Answers when the old one is gone. */
  async kill(downMs = 0): Promise<void> {
    this.kills += 1;
    await this.#end();
    this.#coming = pause(downMs).then(() => this.#launch());
  }

  async close(): Promise<void> {
    await this.#coming;
    await this.#end();
  }

  async #launch(): Promise<void> {
    const { guard, file, args = [], environment, log } = this.#options;
    const child = spawn(process.execPath, [file, ...args], {
      cwd: guard.folder,
      env: { PATH: process.env['PATH'], HOME: process.env['HOME'], ...environment },
      stdio: ['ignore', 'pipe', openSync(log, 'a')],
    });
    this.#child = child;
    const { pid } = child;
    if (pid !== undefined) guard.started(pid);
    const ended = new Promise<void>((resolve) => {
      child.once('close', (code, signal) => {
        if (pid !== undefined) guard.ended(pid);
        if (child === this.#child) this.endedByItself.push(String(signal ?? code));
        resolve();
      });
    });
    const ready = new Promise<void>((resolve) => {
      child.stdout?.setEncoding('utf8').on('data', (text: string) => {
        if (!text.includes('ready')) return;
        this.ready = child === this.#child;
        resolve();
      });
    });
    await Promise.race([ready, ended]);
  }

  async #end(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    this.ready = false;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'close');
    child.kill('SIGKILL');
    await ended;
  }
}
