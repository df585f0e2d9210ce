import { fileURLToPath } from 'node:url';
import type { Redis } from 'ioredis';
import { launchService, type LaunchedService } from '../../examples/technova/service/launch.ts';
import { ServiceClient } from '../../examples/technova/service/service-client.ts';
import { Queues } from '../../src/producers/index.ts';
import { connect, Store } from '../../src/store/index.ts';
import { Records } from '../../src/store/records.ts';
import { TcpProxy } from '../support/tcp-proxy.ts';
import { Guard } from './guard.ts';
import { RedisProcess } from './redis-process.ts';
import type { RunSettings } from './settings.ts';
import { WorkerProcess } from './worker-process.ts';

/** Who looks on: a connection of its own that no fault of a proxy reaches. */
export type Onlooker = { redis: Redis; store: Store; queues: Queues; records: Records };

/** Everything a run consists of, as real processes: Redis, order service, ticket desk, workers, and the proxies between. */
export class Stage {
  readonly guard: Guard;
  readonly redis: RedisProcess;
  readonly orders: ServiceClient;
  readonly desk: ServiceClient;
  /** The way of the customers and approvers to Redis. */
  readonly toRedis: TcpProxy;
  readonly onlooker: Onlooker;
  readonly slackMs: number;
  readonly workers: WorkerProcess[] = [];
  readonly #services: LaunchedService[];

  private constructor(
    parts: Pick<Stage, 'guard' | 'redis' | 'toRedis' | 'slackMs'>,
    services: [LaunchedService, LaunchedService],
  ) {
    this.guard = parts.guard;
    this.redis = parts.redis;
    this.toRedis = parts.toRedis;
    this.#services = services;
    this.orders = new ServiceClient(services[0].url);
    this.desk = new ServiceClient(services[1].url);
    this.onlooker = lookAt(parts.redis.url, parts.slackMs);
    this.slackMs = parts.slackMs;
  }

  static async open(
    { keys, slackMs }: Pick<RunSettings, 'keys' | 'slackMs'>,
    orders: readonly object[],
  ): Promise<Stage> {
    const guard = new Guard();
    const redis = await RedisProcess.start(guard.path('redis'));
    const toRedis = await TcpProxy.start(redis.port);
    const services = await Promise.all([
      launch(guard, 'order-service'),
      launch(guard, 'ticket-desk'),
    ]);
    const stage = new Stage({ guard, redis, toRedis, slackMs }, services);
    await stage.orders.post('/admin/settings', { idempotency: keys });
    await stage.orders.post('/admin/orders', { orders });
    return stage;
  }

  async addWorkers(settings: RunSettings): Promise<void> {
    const places = Array.from({ length: settings.workers }, (_, index) => index + 1);
    this.workers.push(...(await Promise.all(places.map((place) => this.#worker(place, settings)))));
  }

  #worker(place: number, settings: RunSettings): Promise<WorkerProcess> {
    return WorkerProcess.start({
      guard: this.guard,
      redisPort: this.redis.port,
      ordersPort: portOf(this.orders.url),
      environment: {
        TICKET_DESK_URL: this.desk.url,
        WORKER_LOG: this.logOf(place),
        TOOL_TIMEOUT_MS: String(settings.toolTimeoutMs),
        SEND_TIMEOUT_MS: String(settings.sendTimeoutMs),
        SLACK_MS: String(settings.slackMs),
        RECONCILE_EVERY_MS: String(settings.reconcileEveryMs),
        MODEL_MS: String(settings.modelMs),
        CONCURRENCY: String(settings.concurrency),
        MESSAGES_PER_WAKE_UP: String(settings.messagesPerWakeUp),
        WHILE_WAITING: settings.whileWaiting,
        // A worker is started again and again: its code is compiled once.
        NODE_COMPILE_CACHE: this.guard.path('compiled'),
      },
    });
  }

  /** Both services are late and fail at times; the order service loses answers only if it knows repeats by their key. */
  async makeFlaky({ keys, seed }: Pick<RunSettings, 'keys' | 'seed'>): Promise<void> {
    const late = { latency: 0.3 };
    const lost = { drop_before: 0.01, drop_after: 0.02, fail_before: 0.01, fail_after: 0.02 };
    const orders = keys === 'on' ? { ...late, ...lost } : late;
    const ms = 80;
    await this.orders.post('/admin/faults', { random: { seed, probability: orders, ms } });
    await this.desk.post('/admin/faults', {
      random: { seed, probability: { ...late, ...lost }, ms },
    });
  }

  /** What the workers of a place complained about, one JSON object a line. */
  logOf(place: number): string {
    return this.guard.path(`worker-${place}.log`);
  }

  async close(keep = false): Promise<void> {
    await Promise.all(this.workers.map((worker) => worker.close()));
    await this.onlooker.queues.close();
    this.onlooker.redis.disconnect();
    await this.toRedis.close();
    await Promise.all(this.#services.map((service) => service.stop('SIGKILL')));
    await this.redis.stop();
    this.guard.release(keep);
  }
}

export function lookAt(redisUrl: string, slackMs: number): Onlooker {
  const redis = connect(redisUrl);
  const store = new Store({ redis, slackMs });
  return { redis, store, queues: new Queues(store), records: new Records(store) };
}

async function launch(
  guard: Guard,
  name: 'order-service' | 'ticket-desk',
): Promise<LaunchedService> {
  const entry = new URL(`../../examples/technova/${name}/main.ts`, import.meta.url);
  const service = await launchService(fileURLToPath(entry), {
    PORT: '0',
    DATA_FILE: guard.path(`${name}.sqlite`),
  });
  guard.started(service.pid);
  return service;
}

function portOf(url: string): number {
  return Number(new URL(url).port);
}
