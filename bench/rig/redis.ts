import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { startRedis, type RunningRedis } from '../../src/store/embedded-redis.ts';
import { pause } from './concurrently.ts';

/** The Redis of a run: with the settings as shipped, on a folder of its own that is removed at the end. */
export class BenchRedis {
  readonly url: string;
  readonly version: string;
  /** For the bench itself, never for what it measures. */
  readonly client: Redis;
  readonly #server: RunningRedis;
  readonly #dataDir: string;

  private constructor(server: RunningRedis, dataDir: string) {
    this.url = server.url;
    this.version = server.version;
    this.#server = server;
    this.#dataDir = dataDir;
    this.client = new Redis(server.url);
  }

  /** @throws RedisNotFoundError, RedisStartError */
  static async start(): Promise<BenchRedis> {
    const dataDir = await mkdtemp(join(tmpdir(), 'turnkeeper-bench-'));
    try {
      return new BenchRedis(await startRedis({ dataDir }), dataDir);
    } catch (error) {
      await rm(dataDir, { recursive: true, force: true });
      throw error;
    }
  }

  /** An empty database and a short append-only file, so that no measurement pays for the one before it. */
  async empty(): Promise<void> {
    await this.client.flushall();
    await this.client.bgrewriteaof();
    await this.fileRewritten();
  }

  /** Resolves when the append-only file is not being rewritten: that costs a core for as long as it takes. */
  async fileRewritten(): Promise<void> {
    while (/aof_rewrite_(in_progress|scheduled):1/.test(await this.client.info('persistence'))) {
      await pause(20);
    }
  }

  /** A number of INFO. @throws RangeError when there is none of that name */
  async info(section: string, field: string): Promise<number> {
    const found = new RegExp(`^${field}:([\\d.]+)`, 'm').exec(await this.client.info(section))?.[1];
    if (found === undefined) throw new RangeError(`INFO ${section} has no ${field}`);
    return Number(found);
  }

  /** Seconds of CPU of the thread that runs commands. */
  async cpuSeconds(): Promise<number> {
    const user = await this.info('cpu', 'used_cpu_user_main_thread');
    return user + (await this.info('cpu', 'used_cpu_sys_main_thread'));
  }

  async stop(): Promise<void> {
    this.client.disconnect();
    await this.#server.stop();
    await rm(this.#dataDir, { recursive: true, force: true });
  }
}
