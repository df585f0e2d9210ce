import { createHash } from 'node:crypto';
import { Redis } from 'ioredis';
import { concurrently } from '../rig/concurrently.ts';
import { Pipeline } from '../rig/pipeline.ts';
import type { BenchRedis } from '../rig/redis.ts';
import { CLIENTS, CONCURRENCY } from '../rig/settings.ts';
import { benchAgent, tickets } from '../rig/workload.ts';

export type RoundTrips = {
  /** Commands of one read turn, from its acceptance to the wake-up of its delivery. */
  perTurn: number;
  /** The same by name; scripts by the name of the script and the queue they work on. */
  byCommand: Readonly<Record<string, number>>;
};

/** Renewal of locks, and what runs by the clock however many turns there are. */
const NOT_PER_TURN = /^(extendLocks?|moveStalledJobsToWait)\b/;

/**
 * Counts what the API and worker clients send, as the server saw it: every top-level command of theirs, BullMQ's included;
 * commands inside a script are no round trips. The deliveries' worker does not run.
 *
 * @param how `busy`: many conversations at a time; `idle`: the next message comes after the turn before it is over
 */
export async function measureRoundTrips(
  redis: BenchRedis,
  turns: number,
  how: 'busy' | 'idle',
): Promise<RoundTrips> {
  await redis.empty();
  const pipeline = await Pipeline.open({
    ...{ redisUrl: redis.url, prefix: `trips-${how}-`, agent: benchAgent('read') },
    ...{ concurrency: CONCURRENCY, duties: 'turns' },
  });
  await pipeline.startWorkers();
  const names = scriptNames(pipeline.api, pipeline.redis);
  // The first turn sends each script in full once.
  await answerAll(pipeline, 0, CLIENTS, 'busy');

  const monitor = await new Redis(redis.url).monitor();
  const counts = new Map<string, number>();
  monitor.on('monitor', (_time: string, args: string[], source: string) => {
    if (source === 'lua') return;
    const name = nameOf(args, names);
    if (!NOT_PER_TURN.test(name)) counts.set(name, (counts.get(name) ?? 0) + 1);
  });
  await answerAll(pipeline, CLIENTS, turns, how);
  // What finishes the last jobs belongs to them.
  await pipeline.stopWorkers();
  const marker = 'end of the count';
  const { promise: seen, resolve } = Promise.withResolvers<void>();
  monitor.on('monitor', (_time: string, args: string[]) => {
    if (args[1] === marker) resolve();
  });
  await redis.client.echo(marker);
  await seen;
  monitor.disconnect();
  await pipeline.close();

  counts.delete('echo');
  const byCommand = Object.fromEntries(
    [...counts].map(([name, count]): [string, number] => [name, count / turns]),
  );
  return { perTurn: Object.values(byCommand).reduce((sum, one) => sum + one, 0), byCommand };
}

async function answerAll(pipeline: Pipeline, first: number, turns: number, how: 'busy' | 'idle') {
  const { committed } = pipeline.store;
  const before = committed.count;
  const messages = tickets('read', turns, 1, { firstConversation: first });
  if (how === 'busy') {
    await concurrently(messages, CLIENTS, (ticket) => pipeline.accept(ticket));
    return committed.reached(before + turns);
  }
  for (const ticket of messages) {
    const goal = committed.count + 1;
    await pipeline.accept(ticket);
    await committed.reached(goal);
  }
}

/** Scripts by what a client sends for them. */
function scriptNames(...clients: Redis[]): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  for (const client of clients) {
    const { scriptsSet } = client as unknown as { scriptsSet: Record<string, { sha: string }> };
    for (const [name, { sha }] of Object.entries(scriptsSet)) {
      names.set(sha, name.replace(/:\d+\.\d+\.\d+$/, ''));
    }
  }
  return names;
}

function nameOf(args: readonly string[], scripts: ReadonlyMap<string, string>): string {
  const command = (args[0] ?? '').toLowerCase();
  if (command !== 'eval' && command !== 'evalsha') return command;
  const script = args[1] ?? '';
  const sha = command === 'evalsha' ? script : createHash('sha1').update(script).digest('hex');
  const name = scripts.get(sha) ?? sha;
  const queue = /:(turns|verifications|approvals|deliveries)(:|$)/.exec(args[3] ?? '')?.[1];
  return queue === undefined ? name : `${name} ${queue}`;
}
