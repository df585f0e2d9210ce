import { InvalidInputError, type Batch, type BatchStatus } from '../contracts/index.ts';
import type { Batches } from '../store/index.ts';
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
  | { kind: 'moved'; batch: Batch };

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

  /** @throws InvalidInputError naming the field that cannot be used */
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

  async resume(batchId: string): Promise<BatchAnswer> {
    return this.#move(batchId, ['paused', 'stopped'], { status: 'running' });
  }

  /** Starts nothing more; what has been started comes to its end. */
  async abort(batchId: string): Promise<BatchAnswer> {
    const from = ['planned', 'running', 'paused', 'stopped'] as const;
    return this.#move(batchId, from, { status: 'aborted', endedAt: this.#now() });
  }

  async #move(
    batchId: string,
    from: readonly BatchStatus[],
    fields: Partial<Batch>,
  ): Promise<BatchAnswer> {
    const answer = await this.#batches.move(batchId, from, fields);
    if (answer === undefined) return { kind: 'not_found' };
    if (!answer.moved) return { kind: 'refused', status: answer.status };
    if (fields.status === 'running') await this.#queues.stepBatch(batchId);
    const batch = await this.#batches.get(batchId);
    return batch === undefined ? { kind: 'not_found' } : { kind: 'moved', batch };
  }
}
