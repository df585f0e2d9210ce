import { Queue, type Job, type JobsOptions } from 'bullmq';
import { QUEUES, type ParkedChild, type Park, type QueueName } from '../contracts/index.ts';
import { digest } from '../loop/index.ts';
import type { ParkedTurn, Store } from '../store/index.ts';

/** The job that waits for a park to be over has one name per turn and park, so adding it twice is adding it once. */
export function childJobId(turnId: string, park: number): string {
  return digest('park', turnId, String(park));
}

/** That jobs are gone when they are done is an option of the workers: kept in every job it would cost memory. */
const POKES = {
  attempts: 1_000_000,
  backoff: { type: 'custom' },
} as const;

/** BullMQ takes jobs without a priority before those with one. */
const BATCH_PRIORITY = 10;

/** The queues of all lanes. Jobs wake somebody up; what there is to do stands in the store. */
export class Queues {
  readonly #store: Store;
  readonly #queues = new Map<string, Queue>();

  constructor(store: Store) {
    this.#store = store;
    for (const tag of store.tags()) {
      for (const name of Object.values(QUEUES)) {
        const queue = new Queue(name, {
          connection: store.redis,
          prefix: tag,
          streams: { events: { maxLen: 100 } },
        });
        // Connection errors surface in the command that met them.
        queue.on('error', () => {});
        this.#queues.set(`${tag}:${name}`, queue);
      }
    }
  }

  of(name: QueueName, conversationId: string): Queue {
    return this.inLane(name, this.#store.tagOf(conversationId));
  }

  inLane(name: QueueName, tag: string): Queue {
    const queue = this.#queues.get(`${tag}:${QUEUES[name]}`);
    if (queue === undefined) throw new RangeError(`no queue ${name} in lane ${tag}`);
    return queue;
  }

  /**
   * Wakes a conversation. At most one poke of it is live; one that arrives while a worker has the conversation is kept
   * until that worker is done.
   */
  async poke(queue: 'turns' | 'deliveries', conversationId: string): Promise<void> {
    await this.of(queue, conversationId).add(
      'poke',
      { conversationId },
      { ...POKES, deduplication: { id: conversationId, keepLastIfActive: true } },
    );
  }

  /** Wakes a conversation for a case of a batch: after everything live, and never one that has a live poke. */
  async pokeForBatch(conversationId: string): Promise<void> {
    const queue = this.of('turns', conversationId);
    if (await queue.getDeduplicationJobId(conversationId)) return;
    await queue.add(
      'poke',
      { conversationId },
      { ...POKES, priority: BATCH_PRIORITY, deduplication: { id: conversationId } },
    );
  }

  /** A message came in where a batch had poked: from now on that poke is a live one. */
  async overtake(conversationId: string): Promise<void> {
    const queue = this.of('turns', conversationId);
    const id = await queue.getDeduplicationJobId(conversationId);
    const job = id ? await queue.getJob(id) : undefined;
    if (job === undefined || job.priority === 0) return;
    await job.changePriority({ priority: 0 });
    // One that was sent back for want of a slot waits for a moment.
    await job.promote().catch(() => {});
  }

  /** Moves a batch on, now; at most one step of it is live. */
  async stepBatch(batchId: string): Promise<void> {
    const [tag = ''] = this.#store.tags();
    await this.inLane('batches', tag).add(
      'step',
      { batchId },
      { ...POKES, deduplication: { id: batchId, keepLastIfActive: true } },
    );
  }

  /** Adds what wakes a parked turn when its park is due, as a child of the turn's job. */
  async addChild(parent: Job, waiting: Omit<ParkedChild, 'park'>, park: Park): Promise<void> {
    const queue = park.kind === 'approval' ? 'approvals' : 'verifications';
    const { id } = parent;
    if (id === undefined) throw new RangeError('a parent job has an id');
    await this.dropChildren(parent);
    const options: JobsOptions = {
      jobId: childJobId(waiting.turnId, park.number),
      parent: { id, queue: parent.queueQualifiedName },
      continueParentOnFailure: true,
      delay: Math.max(0, park.dueAt - this.#store.clock().now()),
      // The worker knows when it has tried often enough.
      attempts: 1_000_000,
      backoff: { type: 'custom' },
    };
    await this.of(queue, waiting.conversationId).add(
      park.kind,
      { ...waiting, park: park.number },
      options,
    );
  }

  /**
   * Takes unfinished children off a job that has run before. A worker that was lost in the middle of parking may have left
   * one behind: it would hold the job, and a job with open children cannot end. A parent that waits for nothing else is
   * woken by it; a child that is running just now finds out by itself that it is late.
   */
  async dropChildren(parent: Job): Promise<void> {
    if (parent.attemptsStarted > 1) await parent.removeUnprocessedChildren();
  }

  /** The job a park waits for, if it still exists. */
  async child(waiting: ParkedChild, kind: Park['kind']): Promise<Job | undefined> {
    const queue = this.of(
      kind === 'approval' ? 'approvals' : 'verifications',
      waiting.conversationId,
    );
    return queue.getJob(childJobId(waiting.turnId, waiting.park));
  }

  /**
   * Wakes a parked turn before what it waits for is over; its record says why. A child that runs just now is let go as well.
   * What does not arrive here the reconciler makes up for.
   */
  async wake({ turnId, jobId, park }: ParkedTurn, conversationId: string): Promise<void> {
    if (park.kind === 'back_off') {
      const job = await this.of('turns', conversationId).getJob(jobId);
      await job?.promote().catch(() => {});
      return;
    }
    const child = await this.child({ conversationId, turnId, park: park.number }, park.kind);
    await child?.removeChildDependency().catch(() => {});
    await child?.remove().catch(() => {});
  }

  /** Runs what a park waits for now. Only a wake-up: whether there is anything to see stands in the store. */
  async hurry(waiting: ParkedChild, kind: Park['kind']): Promise<void> {
    const child = await this.child(waiting, kind);
    // A child that is running, over or gone needs no hurrying.
    await child?.promote().catch(() => {});
  }

  async close(): Promise<void> {
    await Promise.all([...this.#queues.values()].map((queue) => queue.close()));
  }
}
