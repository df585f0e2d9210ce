import { intentOf, type Clock } from '../loop/index.ts';
import type { Queues } from '../producers/index.ts';
import { PLAN_KEPT_MS } from '../producers/batch-plan.ts';
import { tally } from '../producers/batch-run.ts';
import type { PlannedCase, StoredBatch } from '../store/batches.ts';
import type { Batches, Records } from '../store/index.ts';

/** How often a running batch is moved on, and how soon when it only waits for cases to come out. Milliseconds. */
const STEP_MS = 1_000;
const SOON_MS = 100;
/** A slow batch is looked at as often, so that it stops in time. */
const LONGEST_MS = 5_000;
/** Cases that may be started and not over; those that wait for a person do not count. */
const UNDER_WAY = 50;
/** The first cases, then a tenth of all, then the rest: each part only when the one before it is over. */
const CANARY = 5;
/** Cases started between two looks at whether to go on. */
const AT_ONCE = 20;

export type BatchParts = {
  batches: Batches;
  records: Records;
  queues: Queues;
  clock: Clock;
};

/** One look at a batch: what came out, whether it goes on, and what is started now. */
export class BatchStep {
  readonly #batchId: string;
  readonly #parts: BatchParts;

  constructor(batchId: string, parts: BatchParts) {
    this.#batchId = batchId;
    this.#parts = parts;
  }

  /** Answers in how many milliseconds the next step is due, or nothing when there is none. */
  async take(): Promise<number | undefined> {
    const { batches, clock } = this.#parts;
    const batch = await batches.get(this.#batchId);
    if (batch?.status === 'aborted') await this.#countLost(batch);
    if (batch?.status !== 'running') return undefined;
    const counts = await batches.counts(this.#batchId);
    const why = (await this.#repeated(batch)) ?? stopWhy(batch, counts);
    if (why !== undefined) return this.#stop(why);
    const { over } = tally(counts);
    if (batch.next >= batch.cases && over >= batch.started) {
      await batches.move(this.#batchId, ['running'], { status: 'done', endedAt: clock.now() });
      return undefined;
    }
    return this.#startSome(batch, over);
  }

  async #stop(stopWhy: string): Promise<undefined> {
    await this.#parts.batches.move(this.#batchId, ['running'], { status: 'stopped', stopWhy });
  }

  /** An effect that was on record as done and was attempted again, in a case that came out since the last step. */
  async #repeated({ checked = [] }: StoredBatch): Promise<string | undefined> {
    const { batches, records } = this.#parts;
    const found = await batches.holds.repeats(this.#batchId, checked);
    if (found.checked.some((count, lane) => count !== checked[lane])) {
      await batches.move(this.#batchId, ['running'], { checked: found.checked });
    }
    const [first, ...others] = found.repeats;
    if (first === undefined) return undefined;
    const { turnId, operation } = first;
    const { tool = '', resource = '' } = (await records.operation(operation)) ?? {};
    const more = others.length === 0 ? '' : `, and ${others.length} more`;
    return `an effect happened again: ${tool} on ${resource} (${operation}) was done before, and turn ${turnId} attempted it again${more}`;
  }

  /** Starts what the rate and the part allow. */
  async #startSome(batch: StoredBatch, over: number): Promise<number | undefined> {
    const { batches, clock } = this.#parts;
    const now = clock.now();
    const byRate = allowance(batch, now);
    let room = roomOf(batch, over);
    // Who waits for a person may do so for days; that is asked only where it matters.
    if (room < byRate) room = roomOf(batch, over + (await batches.waiting(this.#batchId)));
    const most = batch.started + Math.max(0, Math.min(byRate, room));
    let { next, started } = batch;
    for (let full = false; !full && next < batch.cases;) {
      const page = await batches.cases(this.#batchId, next, AT_ONCE);
      if (page.length === 0) return this.#stop('its plan is gone: plan it again');
      const chosen: PlannedCase[] = [];
      for (const one of page) {
        full = one.verdict === 'run' && started >= most;
        if (full) break;
        next += 1;
        if (one.verdict !== 'run') continue;
        chosen.push(one);
        started += 1;
      }
      await Promise.all(chosen.map((one) => this.#start(batch, one)));
      const progress = { next, started, lastAt: usedUntil(batch, now, started - batch.started) };
      // Whoever paused, stopped or aborted it meanwhile must not undo what was started before.
      const answer = await batches.move(this.#batchId, STARTED, progress);
      if (answer?.status !== 'running') return undefined;
    }
    if (next >= batch.cases) return STEP_MS;
    return room < byRate ? SOON_MS : Math.min(LONGEST_MS, Math.max(STEP_MS, 1_000 / batch.rate));
  }

  /** Puts a case behind the messages of its conversation, once, or says why it is not run. */
  async #start(batch: StoredBatch, one: PlannedCase): Promise<void> {
    const { batches, records, queues } = this.#parts;
    const { turnId, conversationId } = one;
    const passOver = (why: string): Promise<void> =>
      batches.passOver(this.#batchId, one, why, PLAN_KEPT_MS);
    const turn = await records.turn(turnId);
    if (turn === undefined) return passOver('record_gone');
    if (turn.reprocessedAs !== null) return passOver('reprocessed_already');
    if ((await batches.holds.hold(this.#batchId, one, PLAN_KEPT_MS)) !== undefined) {
      return passOver('in_another_batch');
    }
    const [oldest] = turn.messages;
    await batches.queue(
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
    await queues.pokeForBatch(conversationId).catch(() => {});
  }

  /** Cases that a step queued before it was lost, and that nobody has counted. A batch that goes on finds them by itself. */
  async #countLost({ next, started }: StoredBatch): Promise<void> {
    const { batches } = this.#parts;
    const page = await batches.cases(this.#batchId, next, AT_ONCE);
    const states = await Promise.all(
      page.map((one) => batches.state(this.#batchId, one.conversationId, one.turnId)),
    );
    const lost = states.filter((state) => state !== undefined).length;
    if (lost === 0) return;
    const behind = states.findLastIndex((state) => state !== undefined) + 1;
    await batches.move(this.#batchId, ['aborted'], {
      next: next + behind,
      started: started + lost,
    });
  }
}

const STARTED = ['running', 'paused', 'stopped', 'aborted'] as const;

/** Too many cases that did not complete, of those that came out since it was last let go on. */
function stopWhy(batch: StoredBatch, counts: Readonly<Record<string, number>>): string | undefined {
  const { stopIf, toRun, judgedFrom } = batch;
  const all = tally(counts);
  const over = all.over - (judgedFrom?.over ?? 0);
  const ran = all.ran - (judgedFrom?.ran ?? 0);
  const failed = all.failed - (judgedFrom?.failed ?? 0);
  if (stopIf === undefined || over < Math.min(CANARY, toRun) || ran === 0) return undefined;
  const share = failed / ran;
  if (share <= stopIf) return undefined;
  return `${failed} of ${ran} cases did not complete (${percent(share)}, allowed ${percent(stopIf)})`;
}

function percent(share: number): string {
  return `${Math.round(share * 100)} %`;
}

/** Time the rate has not used up yet, from its last case on: enough for a case or a step, no more. Milliseconds. */
function unused({ rate, lastAt }: StoredBatch, now: number): number {
  if (lastAt === undefined) return Math.max(STEP_MS, 1_000 / rate);
  return Math.min(STEP_MS + 1_000 / rate, now - lastAt);
}

/** How many cases the rate allows now. */
function allowance(batch: StoredBatch, now: number): number {
  return Math.floor((batch.rate * unused(batch, now)) / 1_000 + 0.001);
}

function usedUntil(batch: StoredBatch, now: number, cases: number): number {
  return Math.round(now - unused(batch, now) + (cases * 1_000) / batch.rate);
}

/** How many more may be started beside those under way, within the present part. */
function roomOf(batch: StoredBatch, over: number): number {
  return Math.min(UNDER_WAY - (batch.started - over), partEnd(batch, over) - batch.started);
}

/** Up to how many started cases the present part goes. */
function partEnd({ toRun, started }: StoredBatch, over: number): number {
  const ends = [CANARY, Math.max(CANARY, Math.ceil(toRun / 10)), toRun];
  const current = ends.find((end) => started < end) ?? toRun;
  const before = ends.filter((end) => end <= started).at(-1) ?? 0;
  return over >= before ? current : started;
}
