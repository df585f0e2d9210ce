import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { TurnkeeperError } from '../contracts/index.ts';
import { debianRedis } from './debian-redis.ts';

/** Where the program came from: installed on this machine, or fetched from Debian's packages. */
export type RedisOrigin = 'path' | 'debian-packages';

export type RedisServer = {
  command: string;
  origin: RedisOrigin;
  /** Folders of shared libraries it needs beside the system's. */
  libraries?: string;
};

/** There is no Redis on this machine and none could be fetched. */
export class RedisNotFoundError extends TurnkeeperError {
  readonly code = 'redis_not_found';

  constructor(detail: string) {
    super(
      `no redis-server or valkey-server on the PATH and ${detail}. Install one (brew install redis, apt-get install ` +
        'redis-server), start one (docker compose up redis), or point REDIS_URL at one',
    );
  }
}

/** @throws RedisNotFoundError */
export function findRedisServer(path = process.env['PATH'] ?? ''): RedisServer {
  const folders = path.split(delimiter).filter((folder) => folder !== '');
  for (const folder of folders) {
    for (const name of ['redis-server', 'valkey-server']) {
      const command = join(folder, name);
      if (existsSync(command)) return { command, origin: 'path' };
    }
  }
  const fetched = debianRedis(folders);
  if ('missing' in fetched) throw new RedisNotFoundError(fetched.missing);
  return { ...fetched, origin: 'debian-packages' };
}
