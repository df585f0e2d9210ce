import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import { onTestFinished } from 'vitest';
import { QUEUES } from '../../src/contracts/index.ts';

/**
 * Listens to everything that is written under the keys of the queues of a lane: jobs are gone soon after they are done.
 * Texts go to the conversation's own keys by scripts; what these scripts are given is not looked at.
 */
export async function watchQueues(redis: Redis, tag: string) {
  const prefixes = Object.keys(QUEUES).map((queue) => `${tag}:${queue}:`);
  const written: string[] = [];
  const { promise: over, resolve } = Promise.withResolvers<void>();
  const marker = randomUUID();
  const monitor = await redis.duplicate().monitor();
  onTestFinished(() => monitor.disconnect());
  monitor.on('monitor', (_time: string, [command = '', key = '', ...rest]: string[]) => {
    if (key === marker) resolve();
    if (prefixes.some((prefix) => key.startsWith(prefix))) {
      written.push([command, key, ...rest].join(' '));
    }
  });
  return {
    /** What was written until now, a command a line. */
    written: async (): Promise<string> => {
      await redis.get(marker);
      await over;
      return written.join('\n');
    },
  };
}
