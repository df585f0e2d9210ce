import type { Logger } from 'pino';
import type { Queues } from '../producers/index.ts';
import type { Store } from '../store/index.ts';
import { noMeter, type Meter } from '../telemetry/metrics/index.ts';

export type ReconcilerOptions = {
  store: Store;
  queues: Queues;
  logger: Logger;
  /** Default: nothing is measured. */
  meter?: Meter;
  /** Milliseconds between two looks. */
  intervalMs: number;
};

const AT_ONCE = 100;

/**
 * Repairs what lost wake-ups leave behind. Looks only at what is overdue, by time and not by scanning; a needless poke
 * does no harm.
 */
export class Reconciler {
  readonly #options: ReconcilerOptions;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> = Promise.resolve();

  constructor(options: ReconcilerOptions) {
    this.#options = options;
  }

  start(): void {
    const { intervalMs, logger } = this.#options;
    this.#timer = setInterval(() => {
      this.#running = this.#running
        .then(() => this.tick())
        .then(() => {})
        .catch((error: unknown) => logger.warn({ err: error }, 'reconciler'));
    }, intervalMs);
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#running;
  }

  /** Looks once at everything that is overdue; answers how many repairs it made. */
  async tick(): Promise<number> {
    const { store, intervalMs } = this.#options;
    let repairs = 0;
    for (const tag of store.tags()) {
      const due = await store.takeDue(tag, AT_ONCE, intervalMs * 5);
      for (const { kind, conversationId } of due) {
        if (kind === 'delivery') await this.#poke('deliveries', conversationId);
        else await this.#wake(conversationId);
        repairs += 1;
      }
    }
    return repairs;
  }

  async #wake(conversationId: string): Promise<void> {
    const { store, queues, logger, meter = noMeter } = this.#options;
    const parked = await store.parkedTurn(conversationId);
    if (parked !== undefined && parked.park.kind !== 'back_off') {
      const { turnId, park, jobId } = parked;
      const parent = await queues.of('turns', conversationId).getJob(jobId);
      if (parent !== undefined && (await parent.getState()) === 'waiting-children') {
        const waiting = { conversationId, turnId, park: park.number };
        if (!parked.woken && (await queues.child(waiting, park.kind)) !== undefined) {
          meter.add('reconciler_repairs_total', { repair: 'child_hurried' });
          return queues.hurry(waiting, park.kind);
        }
        // What it waited for has happened, or will not: a child that a late worker added must not hold it any longer.
        meter.add('reconciler_repairs_total', { repair: 'turn_woken' });
        logger.warn(waiting, 'parked turn woken without its child');
        return parent.removeUnprocessedChildren();
      }
    }
    await this.#poke('turns', conversationId);
  }

  /**
   * A deduplication key whose job is gone, or lies in no list, would swallow every poke for ever; so would a job that waits
   * for children while its turn waits for nothing.
   */
  async #poke(queue: 'turns' | 'deliveries', conversationId: string): Promise<void> {
    const { queues, logger, meter = noMeter } = this.#options;
    const bull = queues.of(queue, conversationId);
    const live = await bull.getDeduplicationJobId(conversationId);
    if (live !== null && live !== undefined) {
      const job = await bull.getJob(live);
      const state = await job?.getState();
      if (job !== undefined && state === 'waiting-children') return job.removeUnprocessedChildren();
      if (state === undefined || state === 'unknown') {
        meter.add('reconciler_repairs_total', { repair: 'orphan_removed' });
        logger.warn({ queue, conversationId }, 'orphaned deduplication key removed');
        await bull.removeDeduplicationKey(conversationId);
      }
    }
    const repair = queue === 'turns' ? 'turn_poked' : 'delivery_poked';
    meter.add('reconciler_repairs_total', { repair });
    await queues.poke(queue, conversationId);
  }
}
