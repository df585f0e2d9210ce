import { key } from '../../src/store/keys.ts';
import { concurrently } from '../rig/concurrently.ts';
import { Pipeline, type Duties, type Observed } from '../rig/pipeline.ts';
import { CLIENTS, CONCURRENCY } from '../rig/settings.ts';
import { benchAgent, tickets, type Work } from '../rig/workload.ts';

export type TurnsOptions = {
  redisUrl: string;
  prefix: string;
  work: Work;
  conversations: number;
  /** Of each conversation. */
  messages: number;
  duties: Duties;
  observed?: Observed;
};

/**
 * Turns per second from the first message handed in to the last turn committed, workers running all the while: the
 * window of the raw jobs.
 *
 * @throws Error when fewer turns are on record than messages were accepted
 */
export async function turnsPerSecond(options: TurnsOptions): Promise<number> {
  const { work, conversations, messages } = options;
  const turns = conversations * messages;
  const pipeline = await Pipeline.open({
    ...options,
    agent: benchAgent(work),
    concurrency: CONCURRENCY,
  });
  await pipeline.startWorkers();

  const startedAt = performance.now();
  await concurrently(tickets(work, conversations, messages), CLIENTS, (ticket) =>
    pipeline.accept(ticket),
  );
  await pipeline.store.committed.reached(turns);
  const seconds = (performance.now() - startedAt) / 1_000;

  const [tag = ''] = pipeline.store.tags();
  const ended = await pipeline.redis.zcard(key(tag, 'ended'));
  await pipeline.close();
  if (ended !== turns)
    throw new Error(`${ended} turns are on record, ${turns} messages were accepted`);
  return turns / seconds;
}
