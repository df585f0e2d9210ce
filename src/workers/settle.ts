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
  if (rest.park.kind === 'back_off') return delay(at, spread(rest.park.dueAt, clock), clock);
  const { conversationId, turnId } = at;
  await queues.addChild(at.job, { conversationId, turnId }, rest.park);
  if (await at.job.moveToWaitingChildren(at.token)) throw new WaitingChildrenError();
  // The child was over before the job could wait for it.
  return 'claim';
}

/** Longest time a turn comes back later than it might. Milliseconds. */
const SPREAD_MS = 5_000;

/** Up to a tenth of the wait later: those that wait for one account must not all ask it at the same moment. */
export function spread(dueAt: number, clock: Clock): number {
  return dueAt + Math.random() * Math.min(SPREAD_MS, Math.max(0, dueAt - clock.now()) / 10);
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
