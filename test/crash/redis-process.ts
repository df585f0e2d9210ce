import { freePort, startRedis, type RunningRedis } from '../../src/store/embedded-redis.ts';

/** A real Redis that can be killed and comes back on the same port with the data it had acknowledged. */
export class RedisProcess {
  readonly port: number;
  readonly url: string;
  readonly #dataDir: string;
  #running: RunningRedis;

  private constructor(dataDir: string, running: RunningRedis) {
    this.#dataDir = dataDir;
    this.#running = running;
    this.port = running.port;
    this.url = running.url;
  }

  static async start(dataDir: string): Promise<RedisProcess> {
    return new RedisProcess(dataDir, await startRedis({ dataDir, port: await freePort() }));
  }

  /** SIGKILL; down for `ms`, then started again. Resolves when it answers. */
  async killFor(ms: number): Promise<void> {
    await this.#running.kill('SIGKILL');
    await new Promise((resolve) => setTimeout(resolve, ms));
    this.#running = await startRedis({ dataDir: this.#dataDir, port: this.port });
  }

  async stop(): Promise<void> {
    await this.#running.stop();
  }
}
