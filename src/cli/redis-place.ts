import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { Settings } from '../config/index.ts';
import { CommandError, EXIT } from './errors.ts';

/** Where the Redis that `up` starts keeps its data, below the working directory. */
export const DATA_FOLDER = join('.data', 'redis');

const noteSchema = z.object({
  pid: z.number().int().positive(),
  port: z.number().int().positive(),
});

/** Where Redis is: `REDIS_URL`, or the server that `up` runs in this directory. @throws CommandError */
export function redisPlace(settings: Settings): { url: string; from: string } {
  if (settings.REDIS_URL !== undefined) return { url: settings.REDIS_URL, from: 'REDIS_URL' };
  const running = runningServer();
  if (running !== undefined) return { url: running, from: DATA_FOLDER };
  throw new CommandError({
    code: 'redis_not_configured',
    message: `REDIS_URL is not set and no server runs in ${DATA_FOLDER} of this directory`,
    next: 'start everything here with "turnkeeper up", or set REDIS_URL',
    exitCode: EXIT.tryAgain,
    retryable: true,
  });
}

function runningServer(): string | undefined {
  const file = join(DATA_FOLDER, 'running.json');
  if (!existsSync(file)) return undefined;
  const note = noteSchema.safeParse(JSON.parse(readFileSync(file, 'utf8')));
  if (!note.success || !isAlive(note.data.pid)) return undefined;
  return `redis://127.0.0.1:${note.data.port}`;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
