import { randomBytes } from 'node:crypto';
import type { Worker } from 'bullmq';
import type { Logger } from 'pino';
import type { Agent } from '../config/index.ts';
import { providersOf } from '../models/index.ts';
import type { Queues } from '../producers/index.ts';
import { loadSkillTool } from '../skills/index.ts';
import type { ToolContract } from '../contracts/index.ts';
import { timeoutOf, type Citations } from '../loop/index.ts';
import type { Store } from '../store/index.ts';
import type { TurnTrace } from '../telemetry/index.ts';
import { noMeter, type Meter } from '../telemetry/metrics/index.ts';
import type { Tracer } from '../telemetry/otel/index.ts';
import { ToolExecutor, ToolRegistry } from '../tools/index.ts';
import { startApprovalWorker } from './approval-worker.ts';
import { startBatchWorker } from './batch-worker.ts';
import { startDeliveryWorker } from './delivery-worker.ts';
import { Reconciler } from './reconciler.ts';
import { TurnWorker } from './turn-worker.ts';
import { startVerificationWorker } from './verification-worker.ts';

export type WorkerHostOptions = {
  store: Store;
  queues: Queues;
  agent: Agent;
  logger: Logger;
  /** Default: nothing is measured. */
  meter?: Meter;
  /** Default: nothing is exported. */
  tracer?: Tracer;
  /** Conversations worked on at a time, per lane. Default 10. */
  concurrency?: number;
  /** Messages answered per wake-up before the slot goes to another conversation. Default 10. */
  messagesPerWakeUp?: number;
  /** Default: true unless NODE_ENV is production; the caller decides. */
  strictTraces?: boolean;
  /** Milliseconds. Default 10,000. */
  sendTimeoutMs?: number;
  /** Milliseconds between two looks of the reconciler. Default 2,000. */
  reconcileEveryMs?: number;
  /** What an agent with documents has beside its own tools. */
  documents?: { tools: readonly ToolContract[]; citations: Citations };
  /** A turn stands still for longer than any of its calls may take: only the end of this process frees it. */
  onHung?: () => void;
  onTrace?: (turnId: string, trace: TurnTrace) => void;
};

/** What a turn may stand still beyond the longest of its calls. Milliseconds. */
const HUNG_SLACK_MS = 30_000;

const BEAT_MS = 1_000;
const BEAT_TTL_MS = 3_000;

/** Tools of the agent plus the built-in ones, complete or refused. @throws IncompleteToolError */
export function toolsOf(
  agent: Agent,
  store: Store,
  more: readonly ToolContract[] = [],
): ToolExecutor {
  const builtIn = agent.skills.length > 0 ? [loadSkillTool(agent.skills)] : [];
  return new ToolExecutor(
    new ToolRegistry([...agent.tools, ...builtIn, ...more]),
    store.clock(),
    agent.verifier,
  );
}

function longestCallMs({ rules, tools, skills }: Agent): number {
  const accounts = [...Object.values(rules.sourceLimits), ...skills.map(({ limits }) => limits)];
  const model = [rules.limits.modelTimeoutMs, ...accounts.map((one) => one?.modelTimeoutMs ?? 0)];
  return Math.max(...model, ...tools.map((tool) => timeoutOf(tool)));
}

/** All duties of one worker process. Stateless: add processes to go faster. */
export class WorkerHost {
  readonly workerId = randomBytes(9).toString('base64url');
  readonly #options: WorkerHostOptions;
  readonly #turnWorkers: TurnWorker[];
  readonly #workers: Worker[];
  readonly #reconciler: Reconciler;
  readonly #hungAfterMs: number;
  readonly #beat: NodeJS.Timeout;
  readonly #stops: Promise<{ close(): void }>;

  /** @throws IncompleteToolError when a tool lacks part of its contract */
  constructor(options: WorkerHostOptions) {
    this.#options = options;
    const { store, queues, agent, logger, meter = noMeter, concurrency = 10 } = options;
    const { documents } = options;
    const tools = toolsOf(agent, store, documents?.tools);
    // What a provider could not offer to its model is refused now and not in the first turn.
    for (const provider of providersOf(agent.model)) provider.checkTools(tools);
    const lanes = store.tags();
    this.#hungAfterMs = longestCallMs(agent) + HUNG_SLACK_MS;
    const shared = { store, logger, meter, concurrency };
    const traced = options.tracer === undefined ? {} : { tracer: options.tracer };
    for (const tool of agent.tools) meter.expect('tool', tool.name);
    for (const source of agent.sources) meter.expect('source', source.name);
    this.#turnWorkers = lanes.map(
      (tag) =>
        new TurnWorker(
          {
            ...shared,
            ...traced,
            queues,
            agent,
            tools,
            workerId: this.workerId,
            messagesPerWakeUp: options.messagesPerWakeUp ?? 10,
            strictTraces: options.strictTraces ?? true,
            ...(documents === undefined ? {} : { citations: documents.citations }),
            ...(options.onTrace === undefined ? {} : { onTrace: options.onTrace }),
          },
          tag,
        ),
    );
    const [firstLane = ''] = lanes;
    const sendTimeoutMs = options.sendTimeoutMs ?? 10_000;
    this.#workers = [startBatchWorker({ ...shared, queues }, firstLane)];
    for (const tag of lanes) {
      this.#workers.push(
        startVerificationWorker({ ...shared, tools, rules: agent.rules }, tag),
        startApprovalWorker(shared, tag),
        startDeliveryWorker({ ...shared, ...traced, target: agent.target, sendTimeoutMs }, tag),
      );
    }
    const intervalMs = options.reconcileEveryMs ?? 2_000;
    this.#reconciler = new Reconciler({ store, queues, logger, meter, intervalMs });
    this.#reconciler.start();
    this.#beat = setInterval(() => this.#giveSign(), BEAT_MS);
    this.#giveSign();
    this.#stops = store.onStop((turnId) => {
      for (const worker of this.#turnWorkers) worker.stop(turnId);
    });
  }

  async ready(): Promise<void> {
    await Promise.all([
      this.#stops,
      ...this.#turnWorkers.map((worker) => worker.ready()),
      ...this.#workers.map((worker) => worker.waitUntilReady()),
    ]);
  }

  /** Takes nothing new and finishes or parks what is at hand; after the grace the rest is left to other workers. */
  async close(graceMs = 10_000): Promise<void> {
    const { store } = this.#options;
    clearInterval(this.#beat);
    await this.#reconciler.stop();
    const all = [...this.#turnWorkers, ...this.#workers];
    const { promise: graceIsOver, resolve } = Promise.withResolvers<'over'>();
    const timer = setTimeout(() => resolve('over'), graceMs);
    // A worker that is closing cannot be told to hurry: it is held first, and closed once.
    const atRest = Promise.all(all.map((worker) => worker.pause())).then(() => 'at rest' as const);
    const over = (await Promise.race([atRest, graceIsOver])) === 'over';
    clearTimeout(timer);
    await Promise.all(all.map((worker) => worker.close(over)));
    (await this.#stops).close();
    await store.forgetWorker(this.workerId);
  }

  /**
   * Whether every turn at hand gets on, and how long the slowest has stood still. Progress counts, not that a timer fires.
   */
  get health(): { ok: boolean; stillMs: number } {
    const now = this.#options.store.clock().now();
    const stillMs = now - Math.min(now, ...this.#turnWorkers.map(({ movedAt }) => movedAt));
    return { ok: stillMs <= this.#hungAfterMs, stillMs };
  }

  #giveSign(): void {
    const { store, logger, onHung } = this.#options;
    const { ok, stillMs } = this.health;
    if (!ok) {
      logger.fatal({ stillMs }, 'a turn hangs');
      return onHung?.();
    }
    store.beat(this.workerId, BEAT_TTL_MS).catch((error: unknown) => {
      logger.warn({ err: error }, 'no sign of life given');
    });
  }
}
