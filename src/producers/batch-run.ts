import { InvalidInputError, type Batch, type BatchStatus } from '../contracts/index.ts';
import type { StoredBatch } from '../store/batches.ts';
import type { Batches } from '../store/index.ts';
import { hashOfPlan, PLAN_KEPT_MS } from './batch-plan.ts';
import type { Queues } from './queues.ts';

export type BatchStart = {
  by: string;
  name: string;
  reason: string;
  /** Cases started a second. Default 5. */
  rate?: number;
  /** Share of cases that end otherwise than completed at which it stops itself, 0 to 1. Default: never. */
  stopIf?: number;
};

export type BatchAnswer =
  | { kind: 'not_found' }
  /** It is in a state in which that cannot be done. */
  | { kind: 'refused'; status: BatchStatus }
  /** What lies in the store is not what was planned: the hash then, and the hash now. */
  | { kind: 'changed'; planned: string; found: string }
  | { kind: 'moved'; batch: Batch };

/** How long after it was asked for a batch starts at the latest, should nobody be left to wake it. Milliseconds. */
const WAKE_MS = 1_000;

/** Starts, holds and ends batches from any process; the workers do the work, and go on when that process is gone. */
export class BatchControl {
  readonly #batches: Batches;
  readonly #queues: Queues;
  readonly #now: () => number;

  constructor(batches: Batches, queues: Queues, now: () => number) {
    this.#batches = batches;
    this.#queues = queues;
    this.#now = now;
  }

  /** Starts what was planned, and only that. @throws InvalidInputError naming the field that cannot be used */
  async start(
    batchId: string,
    { by, name, reason, rate, stopIf }: BatchStart,
  ): Promise<BatchAnswer> {
    for (const [field, value] of Object.entries({ by, name, reason })) {
      if (value.trim() === '') throw new InvalidInputError(field, value, 'must say something');
    }
    if (rate !== undefined && !(rate > 0 && rate <= 1_000)) {
      throw new InvalidInputError('rate', rate, 'must be above 0 and at most 1,000 cases a second');
    }
    if (stopIf !== undefined && !(stopIf >= 0 && stopIf <= 1)) {
      throw new InvalidInputError('stopIf', stopIf, 'must be a share from 0 to 1');
    }
    const batch = await this.#batches.get(batchId);
    if (batch === undefined) return { kind: 'not_found' };
    if (batch.status === 'planned') {
      await this.#batches.keep(batchId, PLAN_KEPT_MS);
      const found = await hashOfPlan(this.#batches, batch);
      if (found !== batch.hash) return { kind: 'changed', planned: batch.hash, found };
    }
    return this.#move(batchId, ['planned'], {
      status: 'running',
      ...{ by, name, reason },
      ...(rate === undefined ? {} : { rate }),
      ...(stopIf === undefined ? {} : { stopIf }),
      startedAt: this.#now(),
    });
  }

  async pause(batchId: string): Promise<BatchAnswer> {
    return this.#move(batchId, ['running'], { status: 'paused' });
  }

  /** Goes on; whether it does well is judged by what comes out from now on. */
  async resume(batchId: string): Promise<BatchAnswer> {
    const judgedFrom = tally(await this.#batches.counts(batchId));
    return this.#move(batchId, ['paused', 'stopped'], { status: 'running', judgedFrom });
  }

  /** Starts nothing more; what has been started comes to its end. */
  async abort(batchId: string): Promise<BatchAnswer> {
    const from = ['planned', 'running', 'paused', 'stopped'] as const;
    return this.#move(batchId, from, { status: 'aborted', endedAt: this.#now() });
  }

  async #move(
    batchId: string,
    from: readonly BatchStatus[],
    fields: Partial<StoredBatch>,
  ): Promise<BatchAnswer> {
    const runs = fields.status === 'running';
    // Before the fact is stored: this process may be gone right after it.
    if (runs) await this.#wakeLater(batchId);
    const answer = await this.#batches.move(batchId, from, fields);
    if (answer === undefined) return { kind: 'not_found' };
    if (!answer.moved) return { kind: 'refused', status: answer.status };
    if (runs) await this.#wake(batchId);
    const batch = await this.#batches.get(batchId);
    return batch === undefined ? { kind: 'not_found' } : { kind: 'moved', batch };
  }

  get #steps() {
    return this.#queues.inLane('batches', this.#batches.lane);
  }

  async #wakeLater(batchId: string): Promise<void> {
    await this.#steps.add(
      'step',
      { batchId },
      {
        ...{ delay: WAKE_MS, attempts: 1_000_000, backoff: { type: 'custom' } },
        deduplication: { id: batchId, keepLastIfActive: true },
      },
    );
  }

  async #wake(batchId: string): Promise<void> {
    const id = await this.#steps.getDeduplicationJobId(batchId);
    const job = id ? await this.#steps.getJob(id) : undefined;
    // One that runs already looks at the batch by itself, and is followed by the one that waits behind it.
    await job?.promote().catch(() => {});
  }
}

/** Cases that ran, and those of them that did not complete, of counts by `outcome/reason`. */
export function tally(counts: Readonly<Record<string, number>>): {
  over: number;
  ran: number;
  failed: number;
} {
  const sum = (chosen: (name: string) => boolean): number =>
    Object.entries(counts).reduce((total, [name, n]) => total + (chosen(name) ? n : 0), 0);
  const over = sum(() => true);
  const ran = over - sum((name) => name.startsWith('skipped:'));
  return { over, ran, failed: ran - sum((name) => name.startsWith('completed/')) };
}
