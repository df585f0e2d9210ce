import { setTimeout as pause } from 'node:timers/promises';
import type { ApprovalAnswer } from '../../src/store/index.ts';
import { lookAt, type Onlooker } from './stage.ts';

/** Two people who agree to everything that asks for them, both at once, over connections that lose answers. */
export class Approvers {
  /** What each of them was told, by approval. */
  readonly answers = new Map<string, ApprovalAnswer[]>();
  readonly #desk: Onlooker;
  readonly #lookEveryMs: number;
  #closing = false;
  #working: Promise<void> = Promise.resolve();
  readonly #closed: Promise<void>;
  readonly #close: () => void;

  constructor(redisUrl: string, options: { slackMs: number; approveEveryMs: number }) {
    const { slackMs, approveEveryMs } = options;
    this.#lookEveryMs = approveEveryMs;
    this.#desk = lookAt(redisUrl, slackMs);
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#closed = promise;
    this.#close = resolve;
  }

  start(): void {
    this.#working = this.#work();
  }

  async close(): Promise<void> {
    this.#closing = true;
    this.#close();
    await this.#working;
    await this.#desk.queues.close().catch(() => {});
    this.#desk.redis.disconnect();
  }

  async #work(): Promise<void> {
    for (;;) {
      await Promise.race([pause(this.#lookEveryMs), this.#closed]);
      if (this.#closing) return;
      const pending = await this.#desk.records.pendingApprovals();
      await Promise.all(
        pending.flatMap(({ id }) => ['ana', 'ben'].map((person) => this.#decide(id, person))),
      );
    }
  }

  async #decide(id: string, person: string): Promise<void> {
    const { store, queues } = this.#desk;
    const answer = await store.decideApproval(id, 'approved', person);
    this.answers.set(id, [...(this.answers.get(id) ?? []), answer]);
    if (answer.kind !== 'decided' && answer.kind !== 'already') return;
    // Only a wake-up; one that gets lost is repaired.
    const parked = await store.parkedTurn(answer.conversationId, answer.turnId);
    if (parked?.park.approvalId !== id) return;
    const { turnId, park } = parked;
    const waiting = { conversationId: answer.conversationId, turnId, park: park.number };
    await queues.hurry(waiting, 'approval').catch(() => {});
  }
}
