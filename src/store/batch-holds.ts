import { z } from 'zod';
import { batchResultSchema, type BatchResult } from '../contracts/index.ts';
import type { Batches, PlannedCase } from './batches.ts';
import { key } from './keys.ts';
import type { Store } from './store.ts';

const heldSchema = z.object({
  batch: z.string(),
  /** Operations that must not be attempted again, and how often they had been. */
  done: z.record(z.string(), z.number()),
});

/** An effect that was on record as done before the plan, and was attempted again since. */
export type Repeat = { turnId: string; operation: string };

/**
 * Gives a turn to one batch. KEYS 1 who has it; ARGV 1 batch  2 what it remembers, JSON  3 batch it may be taken from, or ''
 * 4 how long, ms. Returns the batch that has it now.
 */
const HOLD = `
local held = redis.call('GET', KEYS[1])
local holder = held and cjson.decode(held).batch
if holder and holder ~= ARGV[1] and holder ~= ARGV[3] then return holder end
if holder ~= ARGV[1] then redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[4]) end
return ARGV[1]
`;

const PAGE = 100;

type CaseId = { conversationId: string; turnId: string };

/** Which batch has a turn, and what must not happen again in it. */
export class BatchHolds {
  readonly #store: Store;
  readonly #batches: Batches;

  constructor(store: Store, batches: Batches) {
    this.#store = store;
    this.#batches = batches;
  }

  /**
   * Makes a turn a case of this batch alone; answers the other batch in which it waits, runs or has run. One that was skipped
   * there, or left there by a batch that does not go on, is free.
   */
  async hold(batchId: string, one: PlannedCase, keepMs: number): Promise<string | undefined> {
    const done = Object.fromEntries(
      one.done.map(({ operation, attempts }) => [operation, attempts]),
    );
    const held = JSON.stringify({ batch: batchId, done });
    const name = this.#name(one);
    let from = '';
    for (;;) {
      const holder = String(
        await this.#store.redis.eval(HOLD, 1, name, batchId, held, from, keepMs),
      );
      if (holder === batchId) return undefined;
      if (await this.#keeps(holder, one)) return holder;
      from = holder;
    }
  }

  /** The batch in which a turn waits, runs or has run. */
  async holder(one: CaseId): Promise<string | undefined> {
    const json = await this.#store.redis.get(this.#name(one));
    if (json === null) return undefined;
    const { batch } = heldSchema.parse(JSON.parse(json));
    return (await this.#keeps(batch, one)) ? batch : undefined;
  }

  #name({ conversationId, turnId }: CaseId): string {
    return key(this.#store.tagOf(conversationId), 'case', `held/${turnId}`);
  }

  async #keeps(holder: string, { conversationId, turnId }: CaseId): Promise<boolean> {
    const state = await this.#batches.state(holder, conversationId, turnId);
    if (state === undefined) return (await this.#batches.get(holder))?.status === 'running';
    return state === 'queued' || 'as' in state;
  }

  /**
   * Effects that were done before the plan and were attempted again, in cases that came out behind `checked` results of each
   * lane; and how many there are now.
   */
  async repeats(
    batchId: string,
    checked: readonly number[],
  ): Promise<{ repeats: Repeat[]; checked: number[] }> {
    const repeats: Repeat[] = [];
    const seen: number[] = [];
    for (const [index, tag] of this.#store.tags().entries()) {
      let from = checked[index] ?? 0;
      for (;;) {
        const page = await this.#results(batchId, tag, from);
        const found = await Promise.all(page.map((one) => this.#repeatsOf(tag, one)));
        repeats.push(...found.flat());
        from += page.length;
        if (page.length < PAGE) break;
      }
      seen.push(from);
    }
    return { repeats, checked: seen };
  }

  async #results(batchId: string, tag: string, from: number): Promise<BatchResult[]> {
    const done = key(tag, 'casesdone', batchId);
    const page = await this.#store.redis.lrange(done, from, from + PAGE - 1);
    return page.map((json) => batchResultSchema.parse(JSON.parse(json)));
  }

  async #repeatsOf(tag: string, result: BatchResult): Promise<Repeat[]> {
    if (!('as' in result)) return [];
    const json = await this.#store.redis.get(key(tag, 'case', `held/${result.turn}`));
    if (json === null) return [];
    const { done } = heldSchema.parse(JSON.parse(json));
    const found = await Promise.all(
      Object.entries(done).map(async ([operation, attempts]) =>
        (await this.#attempts(operation)) > attempts ? [{ turnId: result.as, operation }] : [],
      ),
    );
    return found.flat();
  }

  async #attempts(operation: string): Promise<number> {
    const { redis } = this.#store;
    const lanes = await Promise.all(
      this.#store.tags().map((tag) => redis.hget(key(tag, 'op', operation), 'attempts')),
    );
    return Math.max(0, ...lanes.map(Number));
  }
}
