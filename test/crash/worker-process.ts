import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { TcpProxy } from '../support/tcp-proxy.ts';
import type { Guard } from './guard.ts';
import type { Order } from './worker.ts';

const FILE = new URL('worker.ts', import.meta.url);

/** What a worker is able to do at the moment. */
export type Condition = 'starting' | 'up' | 'stopped' | 'blocked' | 'closed';

/**
 * A place in the fleet: a worker process, its own ways to Redis and to the order service, and everything that can be
 * done to it. A killed process is replaced at once.
 */
export class WorkerProcess {
  condition: Condition = 'starting';
  /** By what name the store knows the process at hand. */
  workerId: string | undefined;
  /** Processes nobody had killed: how they ended and what they complained about. */
  readonly endedByThemselves: string[] = [];
  readonly toRedis: TcpProxy;
  readonly toOrders: TcpProxy;
  readonly #guard: Guard;
  readonly #environment: Record<string, string>;
  #child: ChildProcess | undefined;
  #wakeUp: NodeJS.Timeout | undefined;

  private constructor(
    proxies: { toRedis: TcpProxy; toOrders: TcpProxy },
    guard: Guard,
    environment: Record<string, string>,
  ) {
    this.toRedis = proxies.toRedis;
    this.toOrders = proxies.toOrders;
    this.#guard = guard;
    this.#environment = environment;
  }

  /** Answers when the worker is ready. */
  static async start(options: {
    guard: Guard;
    redisPort: number;
    ordersPort: number;
    environment: Record<string, string>;
  }): Promise<WorkerProcess> {
    const { guard, redisPort, ordersPort, environment } = options;
    const toRedis = await TcpProxy.start(redisPort);
    const toOrders = await TcpProxy.start(ordersPort);
    const worker = new WorkerProcess({ toRedis, toOrders }, guard, {
      ...environment,
      REDIS_URL: `redis://127.0.0.1:${toRedis.port}`,
      ORDER_SERVICE_URL: `http://127.0.0.1:${toOrders.port}`,
    });
    await worker.#launch();
    return worker;
  }

  /** SIGKILL; a new process takes its place. Resolves when the new one is ready. */
  async kill(): Promise<void> {
    await this.#end();
    await this.#launch();
  }

  /** SIGSTOP, until it is told to go on. */
  stop(): void {
    this.#child?.kill('SIGSTOP');
    this.condition = 'stopped';
  }

  /** SIGCONT. */
  goOn(): void {
    this.#child?.kill('SIGCONT');
    this.condition = 'up';
  }

  /** SIGSTOP, and SIGCONT after a while. */
  stopFor(ms: number): void {
    this.stop();
    this.#wakeUp = setTimeout(() => this.goOn(), ms);
  }

  /** Keeps the event loop busy for a while. */
  block(ms: number): void {
    this.#child?.send({ blockMs: ms } satisfies Order);
    this.condition = 'blocked';
    this.#wakeUp = setTimeout(() => (this.condition = 'up'), ms);
  }

  async close(): Promise<void> {
    await this.#end();
    this.condition = 'closed';
    await Promise.all([this.toRedis.close(), this.toOrders.close()]);
  }

  /** Starts a process and waits for it; one that ends by itself is counted and replaced. */
  async #launch(): Promise<void> {
    this.condition = 'starting';
    const child = fork(FILE, {
      env: { ...process.env, ...this.#environment },
      // Not the ones of the process we run in, such as a test runner's.
      execArgv: [],
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    });
    this.#child = child;
    const { pid } = child;
    if (pid !== undefined) this.#guard.started(pid);
    let complaint = '';
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      complaint = (complaint + text).slice(-2_000);
    });
    // An order that comes too late.
    child.on('error', () => {});
    const ready = new Promise<void>((resolve) => {
      child.once('message', ({ workerId }: { workerId: string }) => {
        this.workerId = workerId;
        if (this.condition === 'starting') this.condition = 'up';
        resolve();
      });
    });
    const ended = new Promise<void>((resolve) => {
      child.once('close', (code, signal) => {
        if (pid !== undefined) this.#guard.ended(pid);
        resolve();
        if (child !== this.#child) return;
        this.endedByThemselves.push(`${signal ?? code}: ${complaint.trim()}`);
        clearTimeout(this.#wakeUp);
        void this.#launch();
      });
    });
    await Promise.race([ready, ended]);
  }

  async #end(): Promise<void> {
    clearTimeout(this.#wakeUp);
    const child = this.#child;
    this.#child = undefined;
    this.condition = 'starting';
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'close');
    child.kill('SIGKILL');
    await ended;
  }
}
