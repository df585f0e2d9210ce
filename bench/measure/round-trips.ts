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

/**
 * Renewal of locks, and what runs by the clock however many turns there are. A script that is sent in full is none of a
 * turn's: those were sent before the count.
 */
const NOT_PER_TURN = /^(extendLocks?|moveStalledJobsToWait|eval)\b|verifications$/;
/** The last command of a turn that counts. */
const ENQUEUED = 'addStandardJob deliveries';

const WARM_UP = 50;

/** How many messages are under way at a time. `idle`: the next one comes when the turn before is over. */
const UNDER_WAY = { busy: 4 * CONCURRENCY, idle: 1 };

/**
 * Counts what the API and worker clients send, as the server saw it: every top-level command of theirs, BullMQ's
 * included; commands inside a script are no round trips. The deliveries' worker does not run. Counted from the first
 * acceptance to the last wake-up of a delivery.
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
  const answer = (firstConversation: number, count: number): Promise<void> =>
    concurrently(
      tickets('read', count, 1, { firstConversation }),
      UNDER_WAY[how],
      async (ticket) => {
        const { promise: committed, resolve } = Promise.withResolvers<void>();
        waiting.set(`bench/${ticket.conversationId}`, resolve);
        await pipeline.accept(ticket);
        await committed;
      },
    );
  // The first turn on a connection sends each script in full.
  await answer(0, WARM_UP);

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
  await answer(WARM_UP, turns);
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
  if (command !== 'evalsha') return command;
  const queue = /:(turns|verifications|approvals|deliveries)(:|$)/.exec(args[3] ?? '')?.[1];
  return `${scripts.get(args[1] ?? '') ?? 'unknown script'} ${queue ?? ''}`.trim();
}
