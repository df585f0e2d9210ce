import { DelayedError, WaitingChildrenError, type Job, type Worker } from 'bullmq';
import { modelClient } from '../calls/index.ts';
import type { Agent } from '../config/index.ts';
import { pokeSchema } from '../contracts/index.ts';
import {
  LostClaimError,
  runTurn,
  type Citations,
  type ClaimedTurn,
  type Ports,
  type Rest,
  type Toolbox,
} from '../loop/index.ts';
import { askedModel } from '../models/index.ts';
import type { Queues } from '../producers/index.ts';
import { stepLog, traceOf, type TurnTrace } from '../telemetry/index.ts';
import { liveText } from './live-text.ts';
import { resolved } from './resolve.ts';
import { noMeter, TurnMetrics } from '../telemetry/metrics/index.ts';
import type { Tracer } from '../telemetry/otel/index.ts';
import { delay, settle, type Next, type TurnJob } from './settle.ts';
import { startWorker, type DutyOptions } from './worker-options.ts';

export type TurnWorkerOptions = DutyOptions & {
  queues: Queues;
  agent: Agent;
  tools: Toolbox;
  workerId: string;
  citations?: Citations;
  tracer?: Tracer;
  /** Messages answered per wake-up before the slot goes to another conversation. */
  messagesPerWakeUp: number;
  /** In development an open span at the end of a turn throws; in production it is recorded as undetermined. */
  strictTraces: boolean;
  /** Sees the trace of each turn that came to rest; for tests and evaluations. */
  onTrace?: (turnId: string, trace: TurnTrace) => void;
};

/** How long a batch's poke waits for a slot of its own. Milliseconds. */
const BATCH_WAIT_MS = 250;

/** The host of the loop: claims a conversation, lets `runTurn` drive its turn, settles the job. */
export class TurnWorker {
  readonly #options: TurnWorkerOptions;
  readonly #worker: Worker;
  /** The turns at hand: how to tell them to stop, and when they last got on (milliseconds since the epoch). */
  readonly #atHand = new Map<string, { stop: AbortController; movedAt: number }>();
  #closing = false;
  /** Slots that work for a batch. */
  #batchJobs = 0;

  constructor(options: TurnWorkerOptions, tag: string) {
    this.#options = options;
    this.#worker = startWorker('turns', tag, options, (job, token) => this.#process(job, token));
  }

  async ready(): Promise<void> {
    await this.#worker.waitUntilReady();
  }

  /** Takes nothing new; resolves when the turns at hand have come to rest. */
  async pause(): Promise<void> {
    this.#closing = true;
    await this.#worker.pause();
  }

  /** Takes nothing new; with `force` it does not wait for the turns at hand, which another worker then recovers. */
  async close(force = false): Promise<void> {
    this.#closing = true;
    await this.#worker.close(force);
  }

  /** Somebody asked a turn to stop; if it is at hand, what it has under way is told at once. */
  stop(turnId: string): void {
    this.#atHand.get(turnId)?.stop.abort();
  }

  /** When the turn at hand that has stood still for longest last got on; now if none is. */
  get movedAt(): number {
    const moments = [...this.#atHand.values()].map(({ movedAt }) => movedAt);
    return Math.min(this.#options.store.clock().now(), ...moments);
  }

  async #process(job: Job, token: string): Promise<void> {
    const { concurrency, store } = this.#options;
    // Batches get a quarter of the slots, so that a message that comes in meets a free one.
    // Not of its options: those stay as they were when a live message overtakes.
    const isBatch = job.priority > 0;
    if (isBatch && this.#batchJobs >= Math.max(1, Math.floor(concurrency / 4))) {
      return delay({ job, token }, store.clock().now() + BATCH_WAIT_MS, store.clock());
    }
    if (!isBatch) return this.#wake(job, token);
    this.#batchJobs += 1;
    try {
      await this.#wake(job, token);
    } finally {
      this.#batchJobs -= 1;
    }
  }

  async #wake(job: Job, token: string): Promise<void> {
    const wakeUps: Promise<void>[] = [];
    try {
      await this.#answer(job, token, wakeUps);
      await this.#options.queues.dropChildren(job);
    } finally {
      // The delivery record is the truth; a lost wake-up is repaired from it.
      await Promise.allSettled(wakeUps);
    }
  }

  /** Answers one message after the other, up to the number that is fair to everybody else. */
  async #answer(job: Job, token: string, wakeUps: Promise<void>[]): Promise<void> {
    const { queues, messagesPerWakeUp } = this.#options;
    const { conversationId } = pokeSchema.parse(job.data);
    let turn: ClaimedTurn | undefined;
    let previousEndedAt: number | undefined;
    for (
      let left = messagesPerWakeUp;
      left > 0 && !(this.#closing && turn === undefined);
      left -= 1
    ) {
      turn ??= await this.#claim(job, token, conversationId);
      if (turn === undefined) return;
      const at: TurnJob = { job, token, conversationId, turnId: turn.claim.turnId, wakeUps };
      const next = await this.#drive(turn, at, left > 1, previousEndedAt);
      previousEndedAt = this.#options.store.clock().now();
      if (next === 'done') return;
      turn = next === 'claim' ? undefined : next;
    }
    // Stored behind this job while it is active, and released when it ends: everybody else comes first.
    await queues.poke('turns', conversationId);
  }

  async #claim(job: Job, token: string, conversationId: string): Promise<ClaimedTurn | undefined> {
    const { store, workerId, agent } = this.#options;
    const claim = await store.claimTurn(conversationId, {
      jobId: job.id ?? '',
      workerId,
      burstMs: agent.rules.burstMs,
    });
    if (claim.kind !== 'claimed') {
      (this.#options.meter ?? noMeter).add('claims_total', { claim: claim.kind });
    }
    if (claim.kind === 'held') return delay({ job, token }, claim.until, store.clock());
    return claim.kind === 'claimed' ? claim.turn : undefined;
  }

  async #drive(
    turn: ClaimedTurn,
    at: TurnJob,
    takeNext: boolean,
    previousEndedAt?: number,
  ): Promise<Next> {
    const { store, queues, logger, meter = noMeter } = this.#options;
    const { turnId, conversationId } = at;
    try {
      const whole = turn.messages.some(({ missing }) => missing !== undefined)
        ? await resolved(turn, this.#options)
        : turn;
      return await settle(
        await this.#run(whole, takeNext, previousEndedAt),
        at,
        queues,
        store.clock(),
      );
    } catch (error) {
      if (error instanceof DelayedError || error instanceof WaitingChildrenError) throw error;
      if (error instanceof LostClaimError) {
        meter.add('fenced_writes_total', { verb: 'turn' });
        logger.warn({ turnId, conversationId }, 'claim lost');
        return 'done';
      }
      meter.add('stuck_claims_total', {});
      logger.error({ turnId, conversationId, err: error }, 'turn stuck');
      const held = await store.releaseClaim(turn.claim);
      return held === undefined ? 'done' : delay(at, held.until, store.clock());
    }
  }

  async #run(turn: ClaimedTurn, takeNext: boolean, previousEndedAt?: number): Promise<Rest> {
    const { store, agent, tools, logger, citations, meter = noMeter, tracer } = this.#options;
    const { turnId, conversationId } = turn.claim;
    const trace = traceOf(turn.events);
    const log = stepLog(logger, { turnId, conversationId });
    const metrics = new TurnMetrics({
      meter,
      turn,
      model: askedModel(agent.model),
      hasTool: (name) => tools.find(name) !== undefined,
      ...(previousEndedAt === undefined ? {} : { previousEndedAt }),
    });
    const spans = tracer?.turn(turn);
    const atHand = { stop: new AbortController(), movedAt: store.clock().now() };
    this.#atHand.set(turnId, atHand);
    const ports: Ports = {
      stop: atHand.stop.signal,
      ...(citations === undefined ? {} : { citations }),
      store,
      model: modelClient(agent.model, () =>
        liveText((text) => store.tellWriting(turn.claim, text)),
      ),
      tools,
      clock: store.clock(),
      rules: agent.rules,
      observer: {
        observe(event, state) {
          atHand.movedAt = store.clock().now();
          trace.observe(event);
          log(event, state);
          metrics.observe(event, state);
          spans?.observe(event);
        },
      },
    };
    try {
      const rest = await this.#rest(turn, ports, trace, takeNext);
      metrics.rested(rest);
      spans?.rested();
      return rest;
    } finally {
      this.#atHand.delete(turnId);
    }
  }

  async #rest(turn: ClaimedTurn, ports: Ports, trace: TurnTrace, takeNext: boolean): Promise<Rest> {
    const { strictTraces, onTrace } = this.#options;
    const { turnId } = turn.claim;
    const rest = await runTurn(turn, ports, () => takeNext && !this.#closing);
    if (rest.kind === 'ended') trace.close(ports.clock.now(), strictTraces ? 'strict' : 'lenient');
    onTrace?.(turnId, trace);
    return rest;
  }
}
