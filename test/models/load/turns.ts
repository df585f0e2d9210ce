import { once } from 'node:events';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { Worker } from 'node:worker_threads';
import pino from 'pino';
import { defineAgent } from '../../../src/config/index.ts';
import type { DeliveryTarget } from '../../../src/contracts/index.ts';
import type { Model } from '../../../src/loop/index.ts';
import { anthropicModel, openaiModel } from '../../../src/models/index.ts';
import { acceptMessage, Queues } from '../../../src/producers/index.ts';
import { connect, Store } from '../../../src/store/index.ts';
import { Records, type TurnRecord } from '../../../src/store/records.ts';
import { WorkerHost } from '../../../src/workers/index.ts';
import { Shop, shopTools } from '../../support/shop.ts';

export type LoadReport = {
  /** Turns by how they ended. */
  outcomes: Record<string, number>;
  requests: number;
  /** Model calls that failed, by kind. */
  failures: Record<string, number>;
  /** Longest time a call waited to be made again, and its turn with it. Milliseconds. */
  waitedInCallMs: number;
  /** Longest time from a failure that a turn waits for to the park that frees its slot. Milliseconds. */
  parkedAfterMs: number;
  eventLoopP99Ms: number;
  tookMs: number;
  /** The server's side: sockets at most and in the end, and answers nobody closed. */
  served: { most: number; sockets: number; open: number };
  warnings: string[];
};

const SILENCE_MS = 2_000;

/** So many turns at once by real workers, each with a model call in five that meets a fault of the endpoint. */
export async function loadTurns(
  redisUrl: string,
  { turns, concurrency }: { turns: number; concurrency: number },
): Promise<LoadReport> {
  const thread = new Worker(new URL('server-thread.ts', import.meta.url), { workerData: 'turns' });
  const [{ origin }] = (await once(thread, 'message')) as [{ origin: string }];
  const warnings: string[] = [];
  const warned = (warning: Error): void => void warnings.push(warning.name);
  process.on('warning', warned);
  const redis = connect(redisUrl);
  const store = new Store({ redis, prefix: `load${process.pid}-` });
  await store.open();
  const queues = new Queues(store);
  const waits = { inCallMs: 0 };
  const told = new Told(turns);
  const shop = new Shop();
  shop.add({ id: '1' });
  const agent = defineAgent({
    name: 'load',
    instructions: 'Help with orders.',
    tools: shopTools(shop),
    model: watched(modelsAt(origin), waits),
    target: told,
    limits: { silenceMs: SILENCE_MS, modelFailures: 20, parks: 100 },
  });
  const ids = Array.from({ length: turns }, (_, index) => `c${index}`);
  for (const conversationId of ids) {
    await acceptMessage(store, queues, {
      ...{ source: 'load', conversationId, messageId: conversationId, text: 'Where is order 1?' },
      requester: { id: 'ana@example.com', assurance: 'verified' },
    });
  }
  const delay = monitorEventLoopDelay({ resolution: 5 });
  const startedAt = performance.now();
  const host = new WorkerHost({
    ...{ store, queues, agent, concurrency },
    logger: pino({ level: 'silent' }),
  });
  await host.ready();
  delay.enable();

  await told.all;

  delay.disable();
  const tookMs = Math.round(performance.now() - startedAt);
  await host.close();
  const records = new Records(store);
  const played: TurnRecord[] = [];
  for (const id of await records.turnIds({ limit: turns + 1 })) {
    const turn = await records.turn(id);
    if (turn !== undefined) played.push(turn);
  }
  thread.postMessage('end');
  const [{ requests, ...served }] = (await once(thread, 'message')) as [
    LoadReport['served'] & { requests: number },
  ];
  await thread.terminate();
  await queues.close();
  await redis.quit();
  process.off('warning', warned);
  const events = played.map((turn) => turn.events);
  return {
    outcomes: tally(played.map(({ outcome, reason }) => `${outcome}/${reason}`)),
    failures: tally(
      events.flat().flatMap((one) => (one.type === 'model_failed' ? [one.failure.kind] : [])),
    ),
    requests,
    waitedInCallMs: Math.round(waits.inCallMs),
    parkedAfterMs: Math.max(0, ...events.flatMap(parkedAfter)),
    eventLoopP99Ms: Math.round(delay.percentile(99) / 1e6),
    tookMs,
    served,
    warnings,
  };
}

/** The three APIs in turn, all by one account. */
function modelsAt(origin: string): Model {
  const settings = { apiKey: 'k', model: 'm', prices: { input: 1, output: 1 } };
  const models = [
    openaiModel({ ...settings, baseURL: `${origin}/v1` }),
    openaiModel({ ...settings, baseURL: `${origin}/v1`, api: 'chat' }),
    anthropicModel({ ...settings, baseURL: origin }),
  ] as const;
  let asked = 0;
  return {
    ...models[0],
    ask(view, call) {
      asked += 1;
      return (models[asked % models.length] ?? models[0]).ask(view, call);
    },
  };
}

/** The model, and how long a call waits between two requests of its own. */
function watched(model: Model, waits: { inCallMs: number }): Model {
  const answeredAt = new WeakMap<object, number>();
  return {
    ...model,
    async ask(view, call) {
      const before = answeredAt.get(view);
      if (before !== undefined) {
        waits.inCallMs = Math.max(waits.inCallMs, performance.now() - before);
      }
      const answer = await model.ask(view, call);
      answeredAt.set(view, performance.now());
      return answer;
    },
  };
}

/** A ticket desk that knows when everybody has been answered. */
class Told implements DeliveryTarget {
  readonly #waiting: number;
  readonly #told = new Set<string>();
  readonly #done = Promise.withResolvers<void>();

  constructor(waiting: number) {
    this.#waiting = waiting;
  }

  get all(): Promise<void> {
    return this.#done.promise;
  }

  send(message: Parameters<DeliveryTarget['send']>[0]) {
    this.#told.add(message.externalId);
    if (this.#told.size === this.#waiting) this.#done.resolve();
    return Promise.resolve({ kind: 'sent', targetId: message.reference } as const);
  }

  find() {
    return Promise.resolve({ kind: 'absent' } as const);
  }
}

function parkedAfter(events: TurnRecord['events']): number[] {
  return events.flatMap((event, index) => {
    const before = events[index - 1];
    const parks = event.type === 'turn_parked' && before?.type === 'model_failed';
    return parks ? [event.at - before.at] : [];
  });
}

function tally(names: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}
