import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';

const FILE = new URL('worker.ts', import.meta.url);

/** Worker processes that may be killed at any time; each killed one is replaced. */
export class Fleet {
  readonly #environment: Record<string, string>;
  readonly #children: ChildProcess[] = [];
  kills = 0;

  constructor(environment: Record<string, string>) {
    this.#environment = environment;
  }

  /** Resolves when all of them are ready. */
  async start(count: number): Promise<void> {
    await Promise.all(Array.from({ length: count }, () => this.#launch()));
  }

  /** SIGKILL of the oldest; resolves when a new one is ready. */
  async killOne(): Promise<void> {
    const child = this.#children.shift();
    this.kills += 1;
    await end(child);
    await this.#launch();
  }

  async close(): Promise<void> {
    await Promise.all(this.#children.splice(0).map((child) => end(child)));
  }

  async #launch(): Promise<void> {
    const child = fork(FILE, {
      env: { ...process.env, ...this.#environment },
      // Not the ones of the process we run in, such as a test runner's.
      execArgv: [],
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    this.#children.push(child);
    await Promise.race([
      once(child, 'message'),
      once(child, 'close').then(() => Promise.reject(new Error('a worker ended by itself'))),
    ]);
  }
}

async function end(child: ChildProcess | undefined): Promise<void> {
  if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'close');
  child.kill('SIGKILL');
  await ended;
}
