import { DelayedError, WaitingChildrenError, type Job } from 'bullmq';
import type { ClaimedTurn, Clock, Rest } from '../loop/index.ts';
import type { Queues } from '../producers/index.ts';

/** What the turn worker does next with the conversation: the turn it holds already, a new claim, or nothing. */
export type Next = ClaimedTurn | 'claim' | 'done';

export type TurnJob = {
  job: Job;
  token: string;
  conversationId: string;
  turnId: string;
  /** Pokes on their way; the next turn need not wait for them, the end of the job does. */
  wakeUps: Promise<void>[];
};

/**
 * Turns the way a turn came to rest into a move of its job; no other file does. What is thrown here is BullMQ's own
 * way of saying that a job was moved and must not be finished.
 */
export async function settle(rest: Rest, at: TurnJob, queues: Queues, clock: Clock): Promise<Next> {
  if (rest.deliver) at.wakeUps.push(queues.poke('deliveries', at.conversationId));
  if (rest.kind === 'ended') return rest.next ?? (rest.waiting > 0 ? 'claim' : 'done');
  if (rest.park.kind === 'back_off') return delay(at, rest.park.dueAt, clock);
  const { conversationId, turnId } = at;
  await queues.addChild(at.job, { conversationId, turnId }, rest.park);
  if (await at.job.moveToWaitingChildren(at.token)) throw new WaitingChildrenError();
  // The child was over before the job could wait for it.
  return 'claim';
}

/** Gives the slot back until a time by our clock; BullMQ counts by the clock of this host. */
export async function delay(
  at: Pick<TurnJob, 'job' | 'token'>,
  until: number,
  clock: Clock,
): Promise<never> {
  await at.job.moveToDelayed(Date.now() + Math.max(0, until - clock.now()), at.token);
  throw new DelayedError();
}
