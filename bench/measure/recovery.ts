import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { Pipeline } from '../rig/pipeline.ts';
import type { BenchRedis } from '../rig/redis.ts';
import type { Size } from '../rig/settings.ts';
import { percentile } from '../rig/statistics.ts';
import { benchAgent, tickets } from '../rig/workload.ts';
import type { Report } from '../recovery-worker.ts';

export type Recovery = { p50Ms: number; p99Ms: number; maxMs: number };

const WORKERS = 2;

/**
 * Kills worker processes with SIGKILL in the middle of a model call or a tool call and takes the time from the signal to
 * the commit of that turn by another process. Each cell has keys and two workers of its own and kills one at a time.
 *
 * @throws Error when a turn is not recovered within a minute
 */
export async function measureRecovery(
  redis: BenchRedis,
  { kills, cells }: Pick<Size, 'kills' | 'cells'>,
  progress: (text: string) => void,
): Promise<Recovery> {
  await redis.empty();
  const took: number[] = [];
  let started = 0;
  const runCell = async (_: unknown, number: number): Promise<void> => {
    const cell = new Cell(redis.url, `recovery-${number}-`);
    try {
      await cell.open();
      while (started < kills) {
        started += 1;
        took.push(await cell.killOne(started % 2 === 0 ? 'model' : 'tool'));
        progress(`recovery: ${took.length} of ${kills} kills`);
      }
    } finally {
      await cell.close();
    }
  };
  await Promise.all(Array.from({ length: cells }, runCell));
  return { p50Ms: percentile(took, 0.5), p99Ms: percentile(took, 0.99), maxMs: Math.max(...took) };
}

class Cell {
  readonly #redisUrl: string;
  readonly #prefix: string;
  readonly #workers = new Set<ChildProcess>();
  #pipeline: Pipeline | undefined;
  #turns = 0;
  #listener: (report: Report, from: ChildProcess) => void = () => {};

  constructor(redisUrl: string, prefix: string) {
    this.#redisUrl = redisUrl;
    this.#prefix = prefix;
  }

  async open(): Promise<void> {
    this.#pipeline = await Pipeline.open({
      ...{ redisUrl: this.#redisUrl, prefix: this.#prefix, agent: benchAgent('read') },
      ...{ concurrency: 1, duties: 'turns' },
    });
    await Promise.all(Array.from({ length: WORKERS }, () => this.#startWorker()));
  }

  /** Milliseconds from the kill to the commit of the turn it hit. */
  async killOne(at: 'model' | 'tool'): Promise<number> {
    const { promise: recovered, resolve, reject } = Promise.withResolvers<number>();
    const [ticket] = tickets('read', 1, 1, { firstConversation: this.#turns });
    this.#turns += 1;
    if (ticket === undefined || this.#pipeline === undefined)
      throw new Error('the cell is not open');
    let killedAt: number | undefined;
    let replaced: Promise<void> = Promise.resolve();
    this.#listener = (report, from) => {
      if (report.at === 'committed') {
        if (killedAt !== undefined) resolve(performance.now() - killedAt);
      } else if (killedAt === undefined && report.at === at) {
        killedAt = performance.now();
        from.kill('SIGKILL');
        this.#workers.delete(from);
        replaced = this.#startWorker();
      } else {
        from.send('go on');
      }
    };
    const timer = setTimeout(() => reject(new Error(`not recovered within a minute`)), 60_000);
    await this.#pipeline.accept(ticket);
    const took = await recovered.finally(() => clearTimeout(timer));
    await replaced;
    return took;
  }

  async close(): Promise<void> {
    const ends = [...this.#workers].map(async (worker) => {
      if (worker.exitCode !== null || worker.signalCode !== null) return;
      const ended = once(worker, 'exit');
      worker.kill('SIGKILL');
      await ended;
    });
    await Promise.all(ends);
    await this.#pipeline?.close();
  }

  async #startWorker(): Promise<void> {
    const file = new URL('../recovery-worker.ts', import.meta.url);
    const worker = fork(file, [this.#redisUrl, this.#prefix]);
    this.#workers.add(worker);
    const { promise: ready, resolve, reject } = Promise.withResolvers<void>();
    worker.on('message', (report: Report) => {
      if (report.at === 'ready') resolve();
      else this.#listener(report, worker);
    });
    worker.on('exit', (code) => reject(new Error(`a worker ended with ${code}`)));
    await ready;
  }
}
