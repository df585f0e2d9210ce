import { setTimeout as elapse } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { rules } from '../support/expressions.ts';
import { findPrometheus, startPrometheus } from '../support/prometheus.ts';
import { startLiveWorld, type LiveWorld } from './live-world.ts';

const programs = findPrometheus();
const missing = 'missing' in programs;
const title = missing ? ` (skipped: ${programs.missing})` : '';

/**
 * Every window, offset and `for` of the rules is this many times shorter: five minutes are 2.5 seconds, an hour is 30.
 * Thresholds, also those in seconds, are as shipped: the clock of the deployment is moved ahead for them.
 */
const FASTER = 120;
const MINUTE = 60_000;

type Cause = {
  what: string;
  /** Alerts it must make fire; a burn rate with its speed. */
  alerts: string[];
  bring(world: LiveWorld, fires: (alert: string) => Promise<void>): Promise<void>;
};

const times = (count: number): number[] => Array.from({ length: count }, (_, index) => index + 1);
const burning = (alert: string): string[] =>
  ['fast', 'slow', 'leak'].map((burn) => `${alert} ${burn}`);

/** Calls once for each number, with a pause in between: a rate is seen only where a counter goes on. */
async function steadily(
  count: number,
  everyMs: number,
  act: (number: number) => unknown,
): Promise<void> {
  for (const number of times(count)) {
    await act(number);
    await elapse(everyMs);
  }
}

/** In this order: each moves the clock further ahead, and what waits then has aged as well. */
const CAUSES: Cause[] = [
  {
    what: 'the worker is stopped while customers write, and starts two and a half minutes later',
    alerts: ['NoProgressWithBacklog', 'EnqueuedButNeverTaken', ...burning('CustomerWaitBurnRate')],
    async bring(world, fires) {
      await world.stopWorker();
      await Promise.all(times(160).map((number) => world.write(`late-${number}`, 'hello')));
      world.clock.offsetMs += 2.5 * MINUTE;
      await Promise.all(['NoProgressWithBacklog', 'EnqueuedButNeverTaken'].map(fires));
      await world.startWorker();
      await world.target.when(() => world.target.of('reply', 'late-160').length > 0);
    },
  },
  {
    what: 'the model is cut off in every answer',
    alerts: ['StopReasonShareRises', ...burning('TurnFaultsBurnRate')],
    bring: (world) => steadily(80, 200, (n) => world.write(`cut-${n}`, 'cut-off')),
  },
  {
    what: 'cancellations that were accepted show up in the shop only after a minute and a half',
    alerts: ['VerificationGapGrows'],
    async bring(world) {
      const ids = times(45).map((number) => String(1_000 + number));
      world.shop.settleReads = 1_000_000;
      for (const id of ids) world.shop.add({ id });
      await Promise.all(ids.map((id) => world.write(`slow-${id}`, `slowly ${id}`)));
      await expect.poll(() => world.shop.effects.length, { timeout: 20_000 }).toBe(1 + ids.length);
      world.clock.offsetMs += 1.5 * MINUTE;
      await steadily(ids.length, 400, (number) => {
        const order = world.shop.orders.get(ids[number - 1] ?? '');
        if (order !== undefined) order.status = 'cancelled';
      });
      world.shop.settleReads = 0;
    },
  },
  {
    what: 'the shop goes dark after the orders were read, and nobody settles what is unknown',
    alerts: [...burning('EffectsUnverifiedBurnRate'), 'UnknownEffectsAge'],
    async bring(world, fires) {
      const ids = times(30).map((number) => String(2_000 + number));
      const { promise: dark, resolve: goDark } = Promise.withResolvers<void>();
      let waiting = 0;
      world.barrier.wait = () => {
        waiting += 1;
        if (waiting === ids.length) goDark();
        return dark;
      };
      for (const id of ids) world.shop.add({ id });
      void dark.then(() => {
        world.shop.dark = true;
      });
      await Promise.all(ids.map((id) => world.write(`dark-${id}`, `cancel ${id}`)));
      await fires('EffectsUnverifiedBurnRate fast');
      world.shop.dark = false;
      world.clock.offsetMs += 16 * MINUTE;
    },
  },
  {
    what: 'forty turns with a dear model',
    alerts: ['CostPerHour'],
    bring: (world) => steadily(40, 50, (number) => world.write(`dear-${number}`, 'dear')),
  },
  {
    what: 'somebody sends webhooks without knowing the secret',
    alerts: ['WebhookSignatureFailures'],
    bring: (world) =>
      steadily(15, 200, async (number) => {
        expect(await world.webhook(number, 'another-secret')).toBe(401);
      }),
  },
  {
    what: 'the ticketing system refuses a text',
    alerts: ['DeadLetters'],
    bring: async (world) => void (await world.write('locked-1', 'hello')),
  },
  {
    what: 'people approve whatever they are asked',
    alerts: ['ApprovalsAcceptedAlmostAlways'],
    async bring(world) {
      const before = world.target.of('holding').length;
      await Promise.all(times(30).map((number) => world.write(`yes-${number}`, 'refund')));
      await world.target.arrived('holding', before + 30);
      await world.decideAll('approved');
      const paid = () => world.shop.effects.filter(({ kind }) => kind === 'refund').length;
      await expect.poll(paid, { timeout: 20_000 }).toBeGreaterThanOrEqual(30);
    },
  },
  {
    what: 'nobody decides, while the customer writes again',
    alerts: ['ConversationBlockedTooLong', 'ApprovalsAboutToExpire'],
    async bring(world, fires) {
      const before = world.target.of('holding').length;
      await world.write('asked', 'refund');
      await world.target.arrived('holding', before + 1);
      await world.write('asked', 'hello');
      world.clock.offsetMs += 31 * MINUTE;
      await fires('ConversationBlockedTooLong');
      world.clock.offsetMs += 22.6 * 60 * MINUTE;
    },
  },
  {
    what: 'Redis may no longer use more memory than it nearly uses',
    alerts: ['RedisMemoryHigh'],
    bring: async (world) => limitMemory(world, 0.9),
  },
  {
    what: 'somebody lets Redis answer before it is on disk',
    alerts: ['RedisNotDurable'],
    bring: async ({ redis }) => void (await redis.config('SET', 'appendfsync', 'everysec')),
  },
  {
    what: 'somebody lets Redis throw keys away, and it is full',
    alerts: ['RedisEvictions'],
    async bring(world) {
      // What moves on its own would only stumble over what is missing now.
      await world.stopWorker();
      await world.redis.config('SET', 'maxmemory-policy', 'allkeys-random');
      await limitMemory(world, 1.01);
      await world.redis.set('one-more', 'x');
    },
  },
  {
    what: 'Redis is gone',
    alerts: ['ExporterDown'],
    bring: (world) => world.server.kill('SIGKILL'),
  },
];

async function limitMemory({ redis }: LiveWorld, share: number): Promise<void> {
  const [, used = '0'] = /used_memory:(\d+)/.exec(await redis.info('memory')) ?? [];
  await redis.config('SET', 'maxmemory', String(Math.floor(Number(used) / share)));
}

test('every alert has a real cause', () => {
  const alerts = rules().flatMap(({ kind, name, text }) => {
    const [, burn] = /burn: (\w+)/.exec(text) ?? [];
    return kind === 'alert' ? [burn === undefined ? name : `${name} ${burn}`] : [];
  });

  expect(CAUSES.flatMap((cause) => cause.alerts).toSorted()).toEqual(alerts.toSorted());
});

describe.skipIf(missing)(`with a real Prometheus${title}`, () => {
  test('each alert fires by its real cause, and none before it', { timeout: 400_000 }, async () => {
    let since = Date.now();
    const world = await startLiveWorld();
    const prometheus = await startPrometheus(programs, [world.port], { faster: FASTER });
    const firing = (alert: string): string => {
      const [name, burn] = alert.split(' ');
      const labels = burn === undefined ? '' : `, burn="${burn}"`;
      return `ALERTS{alertname="${name}", alertstate="firing"${labels}}`;
    };
    /** When it fired first, milliseconds since the epoch. */
    const firstFired = async (alert: string): Promise<number | undefined> => {
      const { data } = await prometheus.get<{ result: { values: [number, string][] }[] }>('query', {
        query: `${firing(alert)}[1h]`,
      });
      const at = data.result
        .flatMap(({ values }) => values.map(([second]) => second * 1_000))
        .filter((one) => one >= since);
      return at.length === 0 ? undefined : Math.min(...at);
    };
    const fires = (alert: string): Promise<void> =>
      expect
        .poll(() => firstFired(alert), { timeout: 150_000, interval: 250, message: alert })
        .toBeDefined();
    await prometheus.until('turnkeeper_shared_state_up == 1');

    // Good times.
    world.shop.add({ id: '1' });
    world.shop.add({ id: '2' });
    await world.write('good-cancel', 'cancel 2');
    await world.write('good-refund', 'refund');
    await world.target.arrived('holding', 1);
    await world.decideAll('rejected');
    const goodTimes = (): Promise<void> =>
      steadily(20, 200, async (number) => {
        await world.write(`good-${number}-${Date.now()}`, 'hello');
        expect(await world.webhook(number)).toBe(200);
      });
    await goodTimes();
    // Before the first scrape nobody had reported anything: what ExporterDown is for. From here on it counts.
    await prometheus.until('absent(ALERTS)');
    since = Date.now();
    await goodTimes();
    expect(await prometheus.query('ALERTS{alertstate="firing"}')).toEqual([]);

    const began = new Map<string, number>();
    for (const [index, { alerts, bring }] of CAUSES.entries()) {
      // The slowest holds run on while the next causes come; Redis must be well until they are over.
      if (index === CAUSES.length - 3) await Promise.all([...began.keys()].map(fires));
      for (const alert of alerts) began.set(alert, Date.now());
      await bring(world, fires);
      if (index >= CAUSES.length - 4) await Promise.all(alerts.map(fires));
    }

    for (const [alert, at] of began) {
      expect(await firstFired(alert), `${alert} before its cause`).toBeGreaterThanOrEqual(at);
    }
  });
});
