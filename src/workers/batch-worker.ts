import type { Job, Worker } from 'bullmq';
import { batchStepSchema, type Batch, type BatchCase } from '../contracts/index.ts';
import { intentOf } from '../loop/index.ts';
import type { Queues } from '../producers/index.ts';
import { Batches, Records } from '../store/index.ts';
import { delay } from './settle.ts';
import { startWorker, type DutyOptions } from './worker-options.ts';

/** How often a running batch is moved on. Milliseconds. */
const STEP_MS = 1_000;
/** Cases that may be started and not over; those that wait for a person do not count. */
const UNDER_WAY = 50;
/** The first cases, then a tenth of all, then the rest: each part only when the one before it is over. */
const CANARY = 5;

type BatchWorkerOptions = DutyOptions & { queues: Queues };

/**
 * Moves batches on: starts cases at their rate, part by part, and stops a batch that does not do well. One step of a batch
 * runs at a time, in whichever worker process; all it knows stands in the store.
 */
export function startBatchWorker(options: BatchWorkerOptions, tag: string): Worker {
  const batches = new Batches(options.store);
  const records = new Records(options.store);
  return startWorker('batches', tag, options, async (job: Job, token: string) => {
    const { batchId } = batchStepSchema.parse(job.data);
    const goesOn = await new Step(batchId, batches, records, options).take();
    if (goesOn)
      await delay({ job, token }, options.store.clock().now() + STEP_MS, options.store.clock());
  });
}

class Step {
  readonly #batchId: string;
  readonly #batches: Batches;
  readonly #records: Records;
  readonly #options: BatchWorkerOptions;

  constructor(batchId: string, batches: Batches, records: Records, options: BatchWorkerOptions) {
    this.#batchId = batchId;
    this.#batches = batches;
    this.#records = records;
    this.#options = options;
  }

  /** One step; answers whether there is another one. */
  async take(): Promise<boolean> {
    const batch = await this.#batches.get(this.#batchId);
    if (batch?.status !== 'running') return false;
    const counts = await this.#batches.counts(this.#batchId);
    const over = Object.values(counts).reduce((sum, count) => sum + count, 0);
    const why = await this.#stopWhy(batch, counts, over);
    if (why !== undefined) {
      await this.#batches.move(this.#batchId, ['running'], { status: 'stopped', stopWhy: why });
      return false;
    }
    if (batch.next >= batch.cases && over >= batch.started) {
      const endedAt = this.#options.store.clock().now();
      await this.#batches.move(this.#batchId, ['running'], { status: 'done', endedAt });
      return false;
    }
    await this.#startSome(batch, over);
    return true;
  }

  /** Too many cases that did not complete, or an effect that happened again: then nothing more is started. */
  async #stopWhy(
    batch: Batch,
    counts: Readonly<Record<string, number>>,
    over: number,
  ): Promise<string | undefined> {
    const ran = Object.entries(counts).filter(([name]) => !name.startsWith('skipped:'));
    const failed = ran.filter(([name]) => !name.startsWith('completed/'));
    const sum = (list: readonly (readonly [string, number])[]): number =>
      list.reduce((total, [, count]) => total + count, 0);
    const share = sum(failed) / Math.max(1, sum(ran));
    if (
      batch.stopIf !== undefined &&
      over >= Math.min(CANARY, batch.toRun) &&
      share > batch.stopIf
    ) {
      return `${sum(failed)} of ${sum(ran)} cases did not complete (${Math.round(share * 100)} %, allowed ${Math.round(batch.stopIf * 100)} %)`;
    }
    return undefined;
  }

  /** Starts what the rate and the part allow. */
  async #startSome(batch: Batch, over: number): Promise<void> {
    const end = partEnd(batch, over);
    const room = Math.min(batch.rate * (STEP_MS / 1_000), UNDER_WAY - (batch.started - over));
    let [next, started] = [batch.next, batch.started];
    const most = Math.max(room > 0 ? 1 : 0, Math.floor(room));
    while (started - batch.started < most && started < end && next < batch.cases) {
      const page = await this.#batches.cases(this.#batchId, next, most);
      for (const one of page) {
        if (started - batch.started >= most || started >= end) break;
        next += 1;
        if (one.verdict === 'run' && (await this.#start(batch, one))) started += 1;
      }
    }
    // What does not run needs no room: it is passed over.
    await this.#batches.move(this.#batchId, ['running', 'paused', 'aborted'], { next, started });
  }

  async #start(batch: Batch, { turnId, conversationId }: BatchCase): Promise<boolean> {
    const turn = await this.#records.turn(turnId);
    if (turn === undefined) return false;
    const [oldest] = turn.messages;
    await this.#batches.queue(
      conversationId,
      {
        batch: this.#batchId,
        turn: turnId,
        intent: turn.intent || intentOf(conversationId, oldest?.id ?? ''),
        attempt: turn.attempt + 1,
        plannedAt: batch.plannedAt,
      },
      turn.messages.map((message) => JSON.stringify(message)),
    );
    // Lost, it is made up for by the reconciler.
    await this.#options.queues.pokeForBatch(conversationId).catch(() => {});
    return true;
  }
}

/** Up to how many started cases the present part goes. */
function partEnd({ toRun, started }: Batch, over: number): number {
  const ends = [CANARY, Math.max(CANARY, Math.ceil(toRun / 10)), toRun];
  const current = ends.find((end) => started < end) ?? toRun;
  const before = ends.filter((end) => end <= started).at(-1) ?? 0;
  return over >= before ? current : started;
}
