import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import type { Redis } from 'ioredis';
import { onTestFinished } from 'vitest';
import { QUEUES } from '../../src/contracts/index.ts';

/** `+1700000000.000000 [0 127.0.0.1:5000] "command" "key" …`; of what a script does, `lua` stands for the address. */
const SECOND = /^\S+ \[[^\]]*\] "[^"]*" "([^"]*)"/;

/**
 * Listens to everything that is written under the keys of the queues of a lane: jobs are gone soon after they are done.
 * Texts go to the conversation's own keys by scripts; what these scripts are given is not looked at.
 */
export async function watchQueues(redis: Redis, tag: string) {
  const prefixes = Object.keys(QUEUES).map((queue) => `${tag}:${queue}:`);
  const written: string[] = [];
  const { promise: over, resolve } = Promise.withResolvers<void>();
  const marker = randomUUID();
  const { host = '127.0.0.1', port = 6379 } = redis.options;
  // Not by the client library: it takes the first lines for answers when the server is busy.
  const socket = connect(port, host).on('error', () => {});
  onTestFinished(() => void socket.destroy());
  const lines = createInterface(socket);
  socket.write('MONITOR\r\n');
  await once(lines, 'line');
  lines.on('line', (line: string) => {
    const [, key = ''] = SECOND.exec(line) ?? [];
    if (key === marker) resolve();
    if (prefixes.some((prefix) => key.startsWith(prefix))) written.push(line);
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
