import { setTimeout as pause } from 'node:timers/promises';
import { PHASES_HIT, sample, type PhaseHit } from './phases.ts';
import type { Random } from './random.ts';
import type { FaultSettings } from './settings.ts';
import type { Stage } from './stage.ts';
import type { WorkerProcess } from './worker-process.ts';

export const FAULT_KINDS = [
  'SIGKILL of a worker',
  'SIGSTOP, then SIGCONT',
  'event loop blocked',
  'answers cut',
  'SIGKILL of Redis',
] as const;
export type FaultKind = (typeof FAULT_KINDS)[number];

/** How often each kind of fault happened, and how many conversations it hit in which phase. */
export class Hits {
  readonly faults = new Map<FaultKind, number>();
  readonly #hits = new Map<string, number>();

  add(kind: FaultKind, phases: readonly PhaseHit[]): void {
    this.faults.set(kind, (this.faults.get(kind) ?? 0) + 1);
    for (const phase of phases) this.#hits.set(`${kind} ${phase}`, this.of(kind, phase) + 1);
  }

  of(kind: FaultKind, phase: PhaseHit): number {
    return this.#hits.get(`${kind} ${phase}`) ?? 0;
  }

  get total(): number {
    return [...this.faults.values()].reduce((sum, count) => sum + count, 0);
  }

  /** The pairs of fault and phase that were hit less often than `least`. */
  below(least: number): string[] {
    return FAULT_KINDS.flatMap((kind) =>
      PHASES_HIT.filter((phase) => this.of(kind, phase) < least).map(
        (phase) => `${kind} hit ${phase} ${this.of(kind, phase)} times, wanted ${least}`,
      ),
    );
  }
}

/** Strikes every few hundred milliseconds until it is told to stop. */
export class FaultLoop {
  readonly hits = new Hits();
  readonly #stage: Stage;
  readonly #settings: FaultSettings;
  readonly #random: Random;
  readonly #conversationIds: readonly string[];
  readonly #loseOrderAnswers: boolean;
  /** Part of the messages that is answered, 0 to 1. */
  readonly #progress: () => number;
  #stopped = false;
  #running: Promise<unknown> = Promise.resolve();
  readonly #aftermath = new Set<Promise<void>>();

  constructor(options: {
    stage: Stage;
    settings: FaultSettings;
    random: Random;
    conversationIds: readonly string[];
    loseOrderAnswers: boolean;
    progress: () => number;
  }) {
    this.#stage = options.stage;
    this.#settings = options.settings;
    this.#random = options.random;
    this.#conversationIds = options.conversationIds;
    this.#loseOrderAnswers = options.loseOrderAnswers;
    this.#progress = options.progress;
  }

  start(): void {
    this.#running = Promise.all([this.#strikeWorkers(), this.#strikeRedis()]);
  }

  /** Resolves when everything that was hit is up again. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#running;
    await Promise.all(this.#aftermath);
  }

  async #strikeWorkers(): Promise<void> {
    const { everyMs, most } = this.#settings;
    while (!this.#stopped && this.hits.total < most) {
      await pause(this.#random.between(...everyMs));
      if (!this.#stopped) await this.#strike();
    }
  }

  /** Evenly over the run, so that it meets a full house. */
  async #strikeRedis(): Promise<void> {
    const { redisKills, redisDownMs } = this.#settings;
    for (let kill = 1; kill <= redisKills; kill += 1) {
      while (!this.#stopped && this.#progress() < kill / (redisKills + 1.5)) await pause(50);
      if (this.#stopped) return;
      await this.#count('SIGKILL of Redis');
      await this.#stage.redis.killFor(this.#random.between(...redisDownMs));
    }
  }

  async #strike(): Promise<void> {
    const { stopMs, blockMs } = this.#settings;
    const up = this.#stage.workers.filter(({ condition }) => condition === 'up');
    const running = this.#stage.workers.filter(({ condition }) => condition !== 'starting');
    if (running.length === 0) return;
    const sleepers = up.length > 0 ? (['stop', 'block'] as const) : [];
    switch (this.#random.pick(['kill', 'cut', ...sleepers] as const)) {
      case 'kill': {
        const victim = this.#random.pick(running);
        await this.#count('SIGKILL of a worker', victim);
        return this.#later(victim.kill());
      }
      case 'stop': {
        const victim = this.#random.pick(up);
        await this.#count('SIGSTOP, then SIGCONT', victim);
        return victim.stopFor(this.#random.between(...stopMs));
      }
      case 'block': {
        const victim = this.#random.pick(up);
        await this.#count('event loop blocked', victim);
        return victim.block(this.#random.between(...blockMs));
      }
      case 'cut': {
        const victim = this.#random.pick(up.length > 0 ? up : running);
        await this.#count('answers cut', victim);
        return this.#cut(victim);
      }
    }
  }

  #cut(victim: WorkerProcess): void {
    if (this.#random.chance(0.25)) victim.toRedis.loseRequests();
    else victim.toRedis.loseAnswers();
    if (this.#loseOrderAnswers) victim.toOrders.loseAnswers();
    // Those who write and those who approve have bad lines too.
    if (this.#random.chance(0.5)) this.#stage.toRedis.loseAnswers();
  }

  /** Looks where the victim's conversations are right before it is hit. Without a victim all of them are. */
  async #count(kind: FaultKind, victim?: WorkerProcess): Promise<void> {
    const samples = await sample(this.#stage.onlooker, this.#conversationIds);
    const hit = samples.filter(
      ({ workerId }) => victim === undefined || workerId === victim.workerId,
    );
    this.hits.add(
      kind,
      hit.map(({ phase }) => phase),
    );
  }

  #later(work: Promise<void>): void {
    this.#aftermath.add(work);
    void work.finally(() => this.#aftermath.delete(work));
  }
}
