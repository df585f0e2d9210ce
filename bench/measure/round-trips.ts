import { createHash } from 'node:crypto';
import type { Redis } from 'ioredis';
import { concurrently } from '../rig/concurrently.ts';
import { Pipeline } from '../rig/pipeline.ts';
import type { BenchRedis } from '../rig/redis.ts';
import { CONCURRENCY } from '../rig/settings.ts';
import { benchAgent, tickets } from '../rig/workload.ts';

export type RoundTrips = {
  /** Commands of one read turn, from its acceptance to the wake-up of its delivery. */
  perTurn: number;
  /** The same by name; scripts by their name and the queue they work on. */
  byCommand: Readonly<Record<string, number>>;
};

/** Renewal of locks, and what runs by the clock however many turns there are. */
const NOT_PER_TURN = /^(extendLocks?|moveStalledJobsToWait)\b|verifications$/;
/** The last command of a turn that counts. */
const ENQUEUED = 'addStandardJob deliveries';

/** How many messages are under way at a time. `idle`: the next one comes when the turn before is over. */
const UNDER_WAY = { busy: 4 * CONCURRENCY, idle: 1 };

/**
 * Counts what the API and worker clients send, as the server saw it: every top-level command of theirs, BullMQ's
 * included; commands inside a script are no round trips. The deliveries' worker does not run. Counted from the first acceptance
 * to the last wake-up of a delivery.
 */
export async function measureRoundTrips(
  redis: BenchRedis,
  turns: number,
  how: keyof typeof UNDER_WAY,
): Promise<RoundTrips> {
  await redis.empty();
  const waiting = new Map<string, () => void>();
  const pipeline = await Pipeline.open({
    ...{ redisUrl: redis.url, prefix: `trips-${how}-`, agent: benchAgent('read') },
    ...{ concurrency: CONCURRENCY, duties: 'turns' },
    onCommit: (conversationId) => waiting.get(conversationId)?.(),
  });
  await pipeline.startWorkers();
  const names = scriptNames(pipeline.api, pipeline.redis);
  const monitor = await redis.client.monitor();
  const counts = new Map<string, number>();
  const { promise: allEnqueued, resolve } = Promise.withResolvers<void>();
  monitor.on('monitor', (_time: string, args: string[], source: string) => {
    const name = nameOf(args, names);
    if (source === 'lua' || NOT_PER_TURN.test(name) || counts.get(ENQUEUED) === turns) return;
    counts.set(name, (counts.get(name) ?? 0) + 1);
    if (counts.get(ENQUEUED) === turns) resolve();
  });
  await concurrently(tickets('read', turns, 1), UNDER_WAY[how], async (ticket) => {
    const { promise: committed, resolve: isCommitted } = Promise.withResolvers<void>();
    waiting.set(`bench/${ticket.conversationId}`, isCommitted);
    await pipeline.accept(ticket);
    await committed;
  });
  await allEnqueued;
  await pipeline.close();
  monitor.disconnect();

  const sum = [...counts.values()].reduce((total, one) => total + one, 0);
  const byCommand = [...counts].map(([name, count]): [string, number] => [name, count / turns]);
  return { perTurn: sum / turns, byCommand: Object.fromEntries(byCommand) };
}

/** Scripts by the hash that a client sends for them. */
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
  const queue = /:(turns|verifications|approvals|deliveries)(:|$)/.exec(args[3] ?? '')?.[1];
  return `${scripts.get(sha) ?? sha} ${queue ?? ''}`.trim();
}
