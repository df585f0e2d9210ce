import { setTimeout as elapse } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { launchService } from '../../examples/technova/service/launch.ts';
import { ServiceClient } from '../../examples/technova/service/service-client.ts';
import { acceptMessage, BatchControl, Queues, Reprocess } from '../../src/producers/index.ts';
import { connect, Store } from '../../src/store/index.ts';
import { Batches } from '../../src/store/batches.ts';
import { key } from '../../src/store/keys.ts';
import { Records } from '../../src/store/records.ts';
import { Fleet } from './fleet.ts';
import type { Wish } from './policy.ts';

const SOURCE = 'shop';
const TOTAL = 2_000;
/** The longest part of a full-size run took a minute on two busy cores. Milliseconds. */
const PATIENCE_MS = 600_000;

/** The order service and the ticket desk as processes of their own, workers, and whoever operates them. */
export class Stage {
  readonly orders: ServiceClient;
  readonly desk: ServiceClient;
  readonly fleet: Fleet;
  readonly reprocess: Reprocess;
  readonly records: Records;
  readonly #store: Store;
  readonly #queues: Queues;
  readonly #stops: (() => Promise<unknown>)[];

  private constructor(
    parts: { orders: ServiceClient; desk: ServiceClient; redisUrl: string; prefix: string },
    stops: (() => Promise<unknown>)[],
  ) {
    const { orders, desk, redisUrl, prefix } = parts;
    this.orders = orders;
    this.desk = desk;
    this.fleet = new Fleet({
      REDIS_URL: redisUrl,
      PREFIX: prefix,
      ORDER_SERVICE_URL: orders.url,
      TICKET_DESK_URL: desk.url,
    });
    const redis = connect(redisUrl);
    const store = new Store({ redis, prefix, slackMs: 1_000 });
    this.#store = store;
    this.#queues = new Queues(store);
    this.records = new Records(store);
    const batches = new Batches(store);
    const now = (): number => store.clock().now();
    const control = new BatchControl(batches, this.#queues, now);
    this.reprocess = new Reprocess({ batches, records: this.records, control, now });
    this.#stops = [
      () => this.fleet.close(),
      () => this.#queues.close(),
      () => redis.quit(),
      ...stops,
    ];
  }

  /** @param keys whether the order service knows a repeat by its key; without keys it pays each time it is asked, up to the total */
  static async open(redisUrl: string, prefix: string, keys: 'on' | 'off'): Promise<Stage> {
    const [orders, desk] = await Promise.all(
      ['order-service', 'ticket-desk'].map((name) => {
        const entry = new URL(`../../examples/technova/${name}/main.ts`, import.meta.url);
        return launchService(fileURLToPath(entry), { PORT: '0', DATA_FILE: ':memory:' });
      }),
    );
    if (orders === undefined || desk === undefined) throw new Error('a service is missing');
    const stage = new Stage(
      {
        ...{ redisUrl, prefix },
        orders: new ServiceClient(orders.url),
        desk: new ServiceClient(desk.url),
      },
      [orders, desk].map((service) => () => service.stop('SIGKILL')),
    );
    await stage.#store.open();
    if (keys === 'off') await stage.orders.post('/admin/settings', { idempotency: 'off' });
    return stage;
  }

  /** Hands in as many messages, `refunded` of which lead to a refund before the agent gives up; resolves once it has. */
  async escalate(cases: number, refunded: number): Promise<void> {
    const numbers = Array.from({ length: cases }, (_, index) => index + 1);
    for (let from = 0; from < cases; from += 500) {
      const orders = numbers.slice(from, from + 500).map(orderOf);
      await this.orders.post('/admin/orders', { orders });
    }
    await Promise.all(
      numbers.map((number) => this.#say(number, number <= refunded ? 'refunded' : 'refused')),
    );
    await this.until('all have escalated', async () => (await this.ended()) >= cases);
  }

  /** Customers write once more. */
  async interrupt(numbers: readonly number[]): Promise<void> {
    await Promise.all(numbers.map((number) => this.#say(number, 'thanks')));
  }

  #say(number: number, wish: Wish) {
    return acceptMessage(this.#store, this.#queues, {
      ...{ source: SOURCE, conversationId: `c${number}`, messageId: wish },
      text: `${wish} ${orderId(number)}`,
      requester: { id: customerOf(number), assurance: 'verified' },
    });
  }

  /** Turns that have ended. */
  async ended(): Promise<number> {
    return this.#store.redis.zcard(key(this.#store.tags()[0] ?? '', 'ended'));
  }

  /** Nobody tells the onlooker of another process: it looks until it is so. @throws Error when it takes too long */
  async until(what: string, ready: () => Promise<boolean>): Promise<void> {
    const givenUpAt = Date.now() + PATIENCE_MS;
    while (!(await ready())) {
      if (Date.now() > givenUpAt) throw new Error(`gave up waiting until ${what}`);
      await elapse(25);
    }
  }

  async over(id: string): Promise<{ over: number; started: number; status: string }> {
    const view = await this.reprocess.status(id);
    if (view === undefined) throw new Error(`no batch ${id}`);
    return view;
  }

  /** How often each order was really paid back, by the books of the shop. */
  refunds(): Promise<Map<string, number>> {
    return effectsIn(this.orders, 'refund');
  }

  /** How often the shop was asked to pay each order back, whatever it answered. */
  async asked(): Promise<Map<string, number>> {
    const requests = await this.orders.log({ kind: 'request', operation: 'refund' });
    return tally(requests.map(({ orderId }) => String(orderId)));
  }

  /** How often each conversation was answered in public, by the books of the ticket desk. */
  replies(): Promise<Map<string, number>> {
    return effectsIn(this.desk, 'reply');
  }

  async close(): Promise<void> {
    for (const stop of this.#stops) await stop();
  }
}

async function effectsIn(books: ServiceClient, operation: string): Promise<Map<string, number>> {
  const effects = await books.log({ kind: 'effect', operation });
  // `applied:refund:12-1`
  return tally(effects.map(({ event }) => String(event).split(':').at(-1) ?? ''));
}

function tally(names: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return counts;
}

export function orderId(number: number): string {
  return `${number}-1`;
}

function customerOf(number: number): string {
  return `customer-${number}@example.com`;
}

function orderOf(number: number): object {
  return {
    id: orderId(number),
    customerId: customerOf(number),
    status: 'delivered',
    placedAt: new Date(Date.now() - 2 * 86_400_000).toISOString(),
    deliveredAt: new Date(Date.now() - 86_400_000).toISOString(),
    total: TOTAL,
    lines: [{ id: 'line-1', sku: 'CASE-1', name: 'Case', quantity: 1, unitPrice: TOTAL }],
  };
}
