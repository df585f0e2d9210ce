import pino, { type Logger } from 'pino';
import type { Agent } from './config/index.ts';
import type { TicketMessage } from './contracts/index.ts';
import { acceptMessage, Queues } from './producers/index.ts';
import type { Meter } from './telemetry/metrics/index.ts';
import type { Tracer } from './telemetry/otel/index.ts';
import { connect, Store, type Accepted, type StoreOptions } from './store/index.ts';
import { WorkerHost, type WorkerHostOptions } from './workers/index.ts';

export type TurnkeeperOptions = Omit<StoreOptions, 'redis'> & {
  agent: Agent;
  redisUrl: string;
  logger?: Logger;
  meter?: Meter;
  tracer?: Tracer;
};

/** A running Turnkeeper: hand messages in, and start workers in as many processes as you like. */
export type Turnkeeper = {
  store: Store;
  queues: Queues;
  accept(message: TicketMessage): Promise<Accepted>;
  startWorkers(
    options?: Omit<WorkerHostOptions, 'store' | 'queues' | 'agent' | 'logger'>,
  ): Promise<WorkerHost>;
  close(): Promise<void>;
};

/** Connects everything. @throws LaneCountError when the number of lanes is not the one this Redis was started with */
export async function createTurnkeeper(options: TurnkeeperOptions): Promise<Turnkeeper> {
  const {
    agent,
    redisUrl,
    logger = pino({ level: 'silent' }),
    meter,
    tracer,
    ...storeOptions
  } = options;
  const observed = {
    ...(meter === undefined ? {} : { meter }),
    ...(tracer === undefined ? {} : { tracer }),
  };
  const redis = connect(redisUrl);
  const store = new Store({ redis, ...storeOptions });
  await store.open();
  const queues = new Queues(store);
  const hosts: WorkerHost[] = [];
  const closing: (() => Promise<void>)[] = [];
  return {
    store,
    queues,
    accept: (message) =>
      acceptMessage(store, queues, message, meter === undefined ? {} : { meter }),
    async startWorkers(hostOptions = {}) {
      const opened = await openDocuments(agent, store, meter);
      if (opened !== undefined) closing.push(() => opened.close());
      const parts = { store, queues, agent, logger, ...opened?.host };
      const host = new WorkerHost({ ...observed, ...hostOptions, ...parts });
      await host.ready();
      hosts.push(host);
      return host;
    },
    async close() {
      await Promise.all(hosts.map((host) => host.close()));
      await Promise.all(closing.map((close) => close()));
      await queues.close();
      await tracer?.close();
      await redis.quit();
    },
  };
}

/** Loaded only for agents that have documents: everybody else does without the search and its vectors. */
export async function openDocuments(
  { knowledge: options }: Pick<Agent, 'knowledge'>,
  { redis, prefix }: Store,
  meter?: Meter,
): Promise<{ host: Pick<WorkerHostOptions, 'documents'>; close(): Promise<void> } | undefined> {
  if (options === undefined) return undefined;
  const { citationsOf, openKnowledge, searchKnowledge, searchMetrics } =
    await import('./retrieval/index.ts');
  const { KnowledgeStore } = await import('./store/knowledge.ts');
  const count = meter === undefined ? undefined : searchMetrics(meter);
  const knowledge = openKnowledge(new KnowledgeStore({ redis, prefix }), {
    ...options,
    observe(step) {
      count?.(step);
      options.observe?.(step);
    },
  });
  const citations = citationsOf(knowledge, options.citationJudge);
  const documents = { tools: [searchKnowledge(knowledge)], citations };
  return { host: { documents }, close: () => knowledge.close() };
}
