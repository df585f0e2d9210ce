import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { getCompileCacheDir } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { launchService, type LaunchedService } from '../../examples/technova/service/launch.ts';
import { ServiceClient } from '../../examples/technova/service/service-client.ts';
import { CommandError, EXIT } from '../../src/cli/errors.ts';
import { startRedis, type RunningRedis } from '../../src/store/embedded-redis.ts';
import { lifeline } from './lifeline.ts';

/** A service of the demo: its process, and somebody who speaks to it. */
export type Service = { name: string; pid: number; client: ServiceClient };

export type WorkerProcess = {
  name: string;
  pid: number;
  /** What the store calls it. */
  workerId: string;
  /** SIGKILL; resolves when the process is gone. */
  kill(): Promise<void>;
};

/** Milliseconds a process may take to end when it is asked to. */
const PATIENCE_MS = 3_000;

/** Everything the demo starts: in a folder of its own, on ports of its own, and gone when the demo is. */
export class Household {
  readonly directory = mkdtempSync(join(tmpdir(), 'turnkeeper-demo-'));
  /** Folder of the workers' step logs. */
  readonly logs = join(this.directory, 'logs');
  readonly #lifeline = lifeline(this.directory);
  #redis: Promise<RunningRedis> | undefined;
  /** In the order in which they have to end. */
  readonly #workers: Promise<LaunchedService>[] = [];
  readonly #connections: (() => Promise<void>)[] = [];
  readonly #services: Promise<LaunchedService>[] = [];

  /** @throws RedisNotFoundError, RedisStartError */
  redis(): Promise<RunningRedis> {
    this.#redis ??= startRedis({ dataDir: join(this.directory, 'redis') });
    return this.#redis;
  }

  async orderService(name: string, world: object): Promise<Service> {
    const seed = join(this.#folder(name), 'world.json');
    writeFileSync(seed, JSON.stringify(world));
    return this.#service(name, 'order-service', { SEED_FILE: seed });
  }

  async ticketDesk(name: string): Promise<Service> {
    return this.#service(name, 'ticket-desk', { SEED_FILE: '' });
  }

  /** The model as a server that speaks the OpenAI API. */
  async model(name: string): Promise<Service> {
    const { url, pid } = await this.#launch(this.#services, name, scriptFile('./model.ts'), {});
    return { name, pid, client: new ServiceClient(url) };
  }

  async worker(
    name: string,
    at: { redis: RunningRedis; shop: Service; desk: Service; model?: Service },
  ): Promise<WorkerProcess> {
    mkdirSync(this.logs, { recursive: true });
    const log = join(this.logs, `${name}.log`);
    const {
      url: workerId,
      pid,
      stop,
    } = await this.#launch(this.#workers, name, scriptFile('./worker.ts'), {
      REDIS_URL: at.redis.url,
      ORDER_SERVICE_URL: at.shop.client.url,
      TICKET_DESK_URL: at.desk.client.url,
      WORKER_LOG: log,
      MODEL_URL: at.model?.client.url ?? '',
    });
    return { name, pid, workerId, kill: async () => void (await stop('SIGKILL')) };
  }

  /** Something of this process that needs Redis: closed before Redis ends. */
  closesWith(close: () => Promise<void>): void {
    this.#connections.push(close);
  }

  /**
   * Ends everything, what is just being started as well. Safe to call again.
   *
   * @param keepFolder the logs of the workers stay for somebody who wants to know what went wrong
   */
  async end(keepFolder = false): Promise<void> {
    await endAll(this.#workers);
    await Promise.all(this.#connections.splice(0).map((close) => within(PATIENCE_MS, close())));
    await endAll(this.#services);
    const redis = await this.#redis?.catch(() => undefined);
    await redis?.stop();
    this.#lifeline.release();
    if (!keepFolder) rmSync(this.directory, { recursive: true, force: true });
  }

  async #service(
    name: string,
    kind: string,
    environment: Record<string, string>,
  ): Promise<Service> {
    const entry = scriptFile(`../../examples/technova/${kind}/main.ts`);
    const { url, pid } = await this.#launch(this.#services, name, entry, {
      HOST: '127.0.0.1',
      PORT: '0',
      DATA_FILE: join(this.#folder(name), 'data.sqlite'),
      ...environment,
    });
    return { name, pid, client: new ServiceClient(url) };
  }

  async #launch(
    among: Promise<LaunchedService>[],
    name: string,
    entry: string,
    environment: Record<string, string>,
  ): Promise<LaunchedService> {
    const cache = getCompileCacheDir();
    const started = launchService(entry, {
      ...environment,
      ...(cache === undefined ? {} : { NODE_COMPILE_CACHE: cache }),
    });
    among.push(started);
    try {
      const launched = await started;
      this.#lifeline.holds(launched.pid);
      return launched;
    } catch (error) {
      const why = (error instanceof Error ? error.message : String(error)).split('\n', 1)[0] ?? '';
      const message = `the ${name} did not start: ${why}`;
      throw new CommandError(
        { code: 'start_failed', message, exitCode: EXIT.failed },
        { cause: error },
      );
    }
  }

  #folder(name: string): string {
    const folder = join(this.directory, name);
    mkdirSync(folder, { recursive: true });
    return folder;
  }
}

async function endAll(launched: Promise<LaunchedService>[]): Promise<void> {
  await Promise.all(
    launched.splice(0).map(async (one) => {
      const service = await one.catch(() => undefined);
      if (service === undefined) return;
      const ended = service.stop('SIGTERM');
      await within(PATIENCE_MS, ended);
      await service.stop('SIGKILL');
    }),
  );
}

/** Waits for it, but not longer. */
async function within(milliseconds: number, work: Promise<unknown>): Promise<void> {
  const { promise: over, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, milliseconds);
  await Promise.race([work.catch(() => {}), over]);
  clearTimeout(timer);
}

function scriptFile(path: string): string {
  return fileURLToPath(new URL(path, import.meta.url));
}
