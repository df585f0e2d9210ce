import { fileURLToPath } from 'node:url';
import { Guard } from '../crash/guard.ts';
import type { Random } from '../crash/random.ts';
import { freePort, startRedis, type RunningRedis } from '../../src/store/embedded-redis.ts';
import { connect, Store } from '../../src/store/index.ts';
import { Records } from '../../src/store/records.ts';
import { DESK_KINDS, startDeskFake, type DeskFake } from '../support/desks/desk-fake.ts';
import { Killable } from './killable.ts';
import type { DeskRunSettings } from './settings.ts';

const MAIN = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url));
const WORKER = fileURLToPath(new URL('worker.ts', import.meta.url));
const AGENT = fileURLToPath(new URL('agent.ts', import.meta.url));

/** Everything of a run: four desks, Redis, the service as its command starts it, and the workers. */
export class DeskStage {
  readonly guard: Guard;
  readonly desks: readonly DeskFake[];
  readonly api: Killable;
  readonly workers: readonly Killable[];
  readonly store: Store;
  readonly records: Records;
  readonly #redis: RunningRedis;

  private constructor(parts: {
    guard: Guard;
    desks: readonly DeskFake[];
    api: Killable;
    workers: readonly Killable[];
    redis: RunningRedis;
  }) {
    this.guard = parts.guard;
    this.desks = parts.desks;
    this.api = parts.api;
    this.workers = parts.workers;
    this.#redis = parts.redis;
    this.store = new Store({ redis: connect(parts.redis.url) });
    this.records = new Records(this.store);
  }

  static async open(settings: DeskRunSettings, random: Random): Promise<DeskStage> {
    const { duplicates, reorderMs, sendTimeoutMs, slackMs, sweepEverySeconds } = settings;
    const guard = new Guard();
    const redis = await startRedis({ dataDir: guard.path('redis') });
    guard.started(redis.pid);
    const port = await freePort();
    const desks = await Promise.all(
      DESK_KINDS.map((kind) =>
        startDeskFake(kind, {
          hooks: {
            url: `http://127.0.0.1:${port}/v1/webhooks/${kind}`,
            // A minute of the desks' patience is a second here.
            ...{ duplicates, reorderMs, paceMs: 1_000 / 60, seed: random.between(1, 1e9) },
          },
        }),
      ),
    );
    const environment = {
      REDIS_URL: redis.url,
      LOG_LEVEL: 'warn',
      DESKS: JSON.stringify(
        desks.map((desk) => ({
          ...{ kind: desk.kind, url: desk.url, secret: desk.secret, ownAuthors: desk.ownAuthors },
          api: desk.api(),
        })),
      ),
      ...{ SEND_TIMEOUT_MS: String(sendTimeoutMs), SLACK_MS: String(slackMs) },
    };
    const log = (name: string): string => guard.path(`${name}.log`);
    const api = await Killable.start({
      ...{ guard, file: MAIN, environment, log: log('api') },
      args: [
        ...['api', '--json', '--config', AGENT, '--port', String(port)],
        ...['--sweep-every', String(sweepEverySeconds)],
      ],
    });
    const workers = await Promise.all(
      Array.from({ length: settings.workers }, (_, number) =>
        Killable.start({
          ...{ guard, file: WORKER, log: log(`worker-${number}`) },
          environment: { ...environment, WORKER_LOG: log(`worker-${number}`) },
        }),
      ),
    );
    return new DeskStage({ guard, desks, api, workers, redis });
  }

  async close(keep = false): Promise<void> {
    await Promise.all([this.api, ...this.workers].map((process) => process.close()));
    await Promise.all(this.desks.map((desk) => desk.close()));
    this.store.redis.disconnect();
    await this.#redis.stop();
    this.guard.release(keep);
  }
}
