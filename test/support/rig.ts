import { createHash, randomUUID } from 'node:crypto';
import pino, { type Logger } from 'pino';
import { inject, onTestFinished } from 'vitest';
import type {
  DeliveryTarget,
  OutgoingMessage,
  TicketMessage,
  ToolContract,
} from '../../src/contracts/index.ts';
import { defineAgent, type AgentOptions } from '../../src/config/index.ts';
import type { Model } from '../../src/loop/index.ts';
import { acceptMessage, Queues } from '../../src/producers/index.ts';
import { connect, Store, type StoreOptions } from '../../src/store/index.ts';
import { Records } from '../../src/store/records.ts';
import type { TurnTrace } from '../../src/telemetry/index.ts';
import { WorkerHost, type WorkerHostOptions } from '../../src/workers/index.ts';

/** A ticketing system that remembers what it was sent. In the same process, for tests that are not about delivery. */
export class MemoryTarget implements DeliveryTarget {
  readonly sent: OutgoingMessage[] = [];
  readonly #waiters: { ready: () => boolean; resolve: () => void }[] = [];

  send(message: OutgoingMessage) {
    this.sent.push(message);
    for (const waiter of this.#waiters) if (waiter.ready()) waiter.resolve();
    return Promise.resolve({ kind: 'sent', targetId: String(this.sent.length) } as const);
  }

  find(message: OutgoingMessage) {
    const at = this.sent.findIndex((one) => one.reference === message.reference);
    return Promise.resolve(
      at === -1
        ? ({ kind: 'absent' } as const)
        : ({ kind: 'found', targetId: String(at + 1) } as const),
    );
  }

  of(kind: OutgoingMessage['kind'], externalId?: string): string[] {
    return this.sent
      .filter(
        (one) => one.kind === kind && (externalId === undefined || one.externalId === externalId),
      )
      .map((one) => one.text);
  }

  /** Resolves once `count` messages of the kind have arrived. */
  arrived(kind: OutgoingMessage['kind'], count: number): Promise<void> {
    return this.when(() => this.of(kind).length >= count);
  }

  when(ready: () => boolean): Promise<void> {
    if (ready()) return Promise.resolve();
    return new Promise((resolve) => this.#waiters.push({ ready, resolve }));
  }
}

export const silent: Logger = pino({ level: 'silent' });

export type RigOptions = Partial<Omit<AgentOptions, 'model' | 'tools'>> & {
  model: Model;
  tools?: readonly ToolContract[];
  store?: Partial<Omit<StoreOptions, 'redis'>>;
  host?: Partial<Omit<WorkerHostOptions, 'store' | 'queues' | 'agent'>>;
};

/** The whole pipeline on the real Redis of the run, under a key prefix of its own, closed when the test ends. */
export async function startRig(options: RigOptions) {
  const { model, tools = [], store: storeOptions, host: hostOptions, ...agentOptions } = options;
  const redis = connect(inject('redisUrl'));
  const prefix = `t${createHash('sha256').update(randomUUID()).digest('hex').slice(0, 10)}-`;
  const store = new Store({ redis, prefix, ...storeOptions });
  await store.open();
  const queues = new Queues(store);
  const target = new MemoryTarget();
  const traces = new Map<string, TurnTrace>();
  const agent = defineAgent({
    name: 'test agent',
    instructions: 'Help.',
    target,
    ...agentOptions,
    model,
    tools,
  });
  const startHost = async (overrides: Partial<WorkerHostOptions> = {}): Promise<WorkerHost> => {
    const host = new WorkerHost({
      store,
      queues,
      agent,
      logger: silent,
      reconcileEveryMs: 200,
      onTrace: (turnId, trace) => traces.set(turnId, trace),
      ...hostOptions,
      ...overrides,
    });
    await host.ready();
    hosts.push(host);
    return host;
  };
  const hosts: WorkerHost[] = [];
  onTestFinished(async () => {
    await Promise.all(hosts.map((host) => host.close(2_000)));
    await queues.close();
    await redis.quit();
  });
  return {
    store,
    queues,
    target,
    agent,
    traces,
    redis,
    records: new Records(store),
    startHost,
    accept: (message: TicketMessage) => acceptMessage(store, queues, message),
  };
}

export function ticket(overrides: Partial<TicketMessage> = {}): TicketMessage {
  return {
    source: 'test',
    conversationId: 'c1',
    messageId: randomUUID(),
    // A customer says which order it is about: a model may not choose one for them.
    subject: 'My order 1',
    text: 'Hello',
    requester: { id: 'ana@example.com', assurance: 'verified' },
    ...overrides,
  };
}
