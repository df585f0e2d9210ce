import pino, { type Logger } from 'pino';
import type { Redis } from 'ioredis';
import type { Agent, TicketMessage } from '../../src/index.ts';
import { acceptMessage, Queues } from '../../src/producers/index.ts';
import { connect, Store } from '../../src/store/index.ts';
import type { Meter } from '../../src/telemetry/metrics/index.ts';
import type { Tracer } from '../../src/telemetry/otel/index.ts';
import { toolsOf, WorkerHost } from '../../src/workers/index.ts';
import { TurnWorker } from '../../src/workers/turn-worker.ts';
import { startVerificationWorker } from '../../src/workers/verification-worker.ts';
import { Counter } from './concurrently.ts';

/**
 * `turns`: takes turns up to their commit, delivery record and the wake-up of the deliveries' queue, and makes re-reads.
 * `all`: the host as shipped, which also sends the deliveries, from the same process.
 */
export type Duties = 'turns' | 'all';

export type Observed = { logger?: Logger; meter?: Meter; tracer?: Tracer };

export type PipelineOptions = {
  redisUrl: string;
  prefix: string;
  agent: Agent;
  /** Conversations worked on at a time. */
  concurrency: number;
  duties: Duties;
  /** Log, metrics and traces. Default: none. */
  observed?: Observed;
  onCommit?: (conversationId: string) => void;
};

/** The real store; tells when a step that ends or parks a turn has been acknowledged. */
class WatchedStore extends Store {
  readonly committed = new Counter();
  readonly parked = new Counter();
  onCommit: PipelineOptions['onCommit'];

  override async commit(...args: Parameters<Store['commit']>): ReturnType<Store['commit']> {
    const answer = await super.commit(...args);
    this.committed.add();
    this.onCommit?.(args[0].conversationId);
    return answer;
  }

  override async park(...args: Parameters<Store['park']>): ReturnType<Store['park']> {
    const answer = await super.park(...args);
    this.parked.add();
    return answer;
  }
}

const logger = pino({ level: 'silent' });

/** The API side and the worker side of one Turnkeeper in this process, each with its own connection. */
export class Pipeline {
  readonly redis: Redis;
  readonly api: Redis;
  readonly store: WatchedStore;
  readonly #options: PipelineOptions;
  readonly #queues: Queues;
  readonly #apiStore: Store;
  readonly #apiQueues: Queues;
  #stop: () => Promise<unknown> = () => Promise.resolve();

  private constructor(options: PipelineOptions) {
    this.#options = options;
    const { redisUrl, prefix, onCommit } = options;
    this.redis = connect(redisUrl);
    this.store = new WatchedStore({ redis: this.redis, prefix });
    this.store.onCommit = onCommit;
    this.#queues = new Queues(this.store);
    this.api = connect(redisUrl);
    this.#apiStore = new Store({ redis: this.api, prefix });
    this.#apiQueues = new Queues(this.#apiStore);
  }

  static async open(options: PipelineOptions): Promise<Pipeline> {
    const pipeline = new Pipeline(options);
    await Promise.all([pipeline.store.open(), pipeline.#apiStore.open()]);
    return pipeline;
  }

  accept(message: TicketMessage): Promise<unknown> {
    return acceptMessage(this.#apiStore, this.#apiQueues, message);
  }

  async startWorkers(): Promise<void> {
    const { agent, concurrency, duties, observed } = this.#options;
    const shared = { store: this.store, logger, concurrency, ...observed };
    if (duties === 'all') {
      const host = new WorkerHost({ ...shared, queues: this.#queues, agent });
      await host.ready();
      this.#stop = () => host.close();
      return;
    }
    const tools = toolsOf(agent, this.store);
    const [tag = ''] = this.store.tags();
    const turnOptions = { ...shared, queues: this.#queues, agent, tools, workerId: 'bench' };
    const turns = new TurnWorker(
      { ...turnOptions, messagesPerWakeUp: 10, strictTraces: true },
      tag,
    );
    const verifications = startVerificationWorker({ ...shared, tools, rules: agent.rules }, tag);
    await Promise.all([turns.ready(), verifications.waitUntilReady()]);
    this.#stop = () => Promise.all([turns.close(), verifications.close()]);
  }

  /** Lets what is in process finish. */
  async stopWorkers(): Promise<void> {
    await this.#stop();
    this.#stop = () => Promise.resolve();
  }

  async close(): Promise<void> {
    await this.stopWorkers();
    await Promise.all([this.#queues.close(), this.#apiQueues.close()]);
    await Promise.all([this.redis.quit(), this.api.quit()]);
  }
}
