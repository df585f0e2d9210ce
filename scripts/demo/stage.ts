import { technovaAgent } from '../../examples/technova/agent/agent.ts';
import { indexDocuments } from '../../examples/technova/agent/index-documents.ts';
import type { World } from '../../examples/technova/order-service/world.ts';
import { readRedisFacts } from '../../src/cli/redis-settings.ts';
import { count } from '../../src/cli/wording.ts';
import { readSettings, type Settings } from '../../src/config/index.ts';
import type { RunningRedis } from '../../src/store/embedded-redis.ts';
import { Records } from '../../src/store/records.ts';
import { createTurnkeeper, type Turnkeeper } from '../../src/turnkeeper.ts';
import { WORKER_OPTIONS } from '../../src/workers/worker-options.ts';
import type { Household, Service, WorkerProcess } from './household.ts';
import type { DemoOptions } from './options.ts';
import { CONCURRENCY, PLAY } from './play-settings.ts';

/** One thing that was looked at before anything is shown, with what was found. */
export type Checked = { part: string; value: string; ok: boolean };

/** Where the tickets are played: all parts up and known to answer. */
export type Stage = {
  redis: RunningRedis;
  /** What a command of the CLI needs to know to look at this stage. */
  settings: Settings;
  shop: Service;
  desk: Service;
  /** Only where the model is a server. */
  model?: Service;
  workers: WorkerProcess[];
  /** Hands messages in; works on none. */
  turnkeeper: Turnkeeper;
  records: Records;
  checked: Checked[];
};

/** @throws RedisNotFoundError, RedisStartError, CommandError naming the part that did not start */
export async function setStage(
  house: Household,
  world: World,
  kind: DemoOptions['model'],
): Promise<Stage> {
  const redis = await house.redis();
  const [shop, desk, model] = await Promise.all([
    house.orderService('order service', world),
    house.ticketDesk('ticket desk'),
    kind === 'local' ? house.model('model server') : undefined,
  ]);
  const place = { redis, shop, desk, ...(model === undefined ? {} : { model }) };
  const [turnkeeper, ...workers] = await Promise.all([
    frontDesk(house, place),
    house.worker('worker-1', place),
    house.worker('worker-2', place),
  ]);
  const records = new Records(turnkeeper.store);
  const { documents, chunks } = await indexDocuments(turnkeeper.store);
  const checked = await check({ ...place, turnkeeper, workers }, world);
  checked.push({
    part: 'help pages',
    value: `${count(documents.added, 'document')} in ${count(chunks, 'passage')}`,
    ok: documents.added > 0,
  });
  return {
    ...place,
    settings: readSettings({ REDIS_URL: redis.url }),
    workers,
    turnkeeper,
    records,
    checked,
  };
}

async function frontDesk(
  house: Household,
  { redis, shop, desk }: Pick<Stage, 'redis' | 'shop' | 'desk'>,
) {
  const agent = technovaAgent({ orderServiceUrl: shop.client.url, ticketDeskUrl: desk.client.url });
  const turnkeeper = await createTurnkeeper({ agent, redisUrl: redis.url, ...PLAY });
  house.closesWith(() => turnkeeper.close());
  return turnkeeper;
}

type Parts = Pick<Stage, 'redis' | 'shop' | 'desk' | 'model' | 'turnkeeper' | 'workers'>;

async function check(
  { redis, shop, desk, model, turnkeeper, workers }: Parts,
  world: World,
): Promise<Checked[]> {
  const facts = await readRedisFacts(turnkeeper.store.redis);
  const {
    version = 'unknown',
    maxmemoryPolicy = 'policy unknown',
    appendonly,
    appendfsync = 'unknown',
  } = facts;
  const stock = (await shop.client.get('/state')).body as { orders: unknown[] };
  const files = await desk.client.get('/state');
  const alive = await turnkeeper.queues
    .inLane('turns', turnkeeper.store.tags()[0] ?? '')
    .getWorkers();
  const found = redis.origin === 'path' ? 'on the PATH' : "from Debian's packages";
  const sync = appendonly === 'yes' ? appendfsync : 'off';
  const lock = WORKER_OPTIONS.lockDuration / 1_000;
  return [
    {
      part: 'redis',
      value: `${version} at 127.0.0.1:${redis.port} (${found}, pid ${redis.pid}), ${maxmemoryPolicy}, append-only ${sync}`,
      ok: sync === 'always' && maxmemoryPolicy === 'noeviction',
    },
    {
      part: shop.name,
      value: `${placeOf(shop)}, ${count(stock.orders.length, 'order')}`,
      ok: stock.orders.length === world.orders.length,
    },
    { part: desk.name, value: placeOf(desk), ok: files.status === 200 },
    ...(model === undefined ? [] : [{ part: model.name, value: placeOf(model), ok: true }]),
    {
      part: 'workers',
      value:
        `${workers.map(({ name, pid }) => `${name} (pid ${pid})`).join(', ')}: ` +
        `${count(CONCURRENCY, 'conversation')} at a time each, lock ${lock} s`,
      ok: alive.length === workers.length,
    },
  ];
}

function placeOf({ client, pid }: Service): string {
  return `${client.url.replace('http://', '')} (pid ${pid})`;
}
