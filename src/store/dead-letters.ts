import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { key } from './keys.ts';
import type { Store } from './store.ts';

const letterSchema = z.object({
  id: z.string(),
  source: z.string(),
  /** What could not be understood. */
  why: z.string(),
  /** Milliseconds since the epoch. */
  receivedAt: z.number().int(),
  /** Bytes as they came. */
  size: z.number().int(),
  /** The beginning of them, in base64. */
  body: z.string(),
});
export type DeadLetter = z.infer<typeof letterSchema>;

/** Bytes of a delivery that are kept, and deliveries; the oldest go first. */
const KEPT_BYTES = 65_536;
const KEPT_LETTERS = 1_000;

/** Deliveries that are genuine and that nobody understood: kept for a person instead of being asked for again. */
export class DeadLetters {
  readonly #store: Store;
  readonly #place: string;

  constructor(store: Store) {
    this.#store = store;
    this.#place = key(store.tags()[0] ?? '', 'deadletters');
  }

  async keep(source: string, why: string, body: Buffer): Promise<DeadLetter> {
    const letter = {
      ...{ id: randomUUID(), source, why, size: body.length },
      receivedAt: this.#store.clock().now(),
      body: body.subarray(0, KEPT_BYTES).toString('base64'),
    };
    await this.#store.redis
      .multi()
      .lpush(this.#place, JSON.stringify(letter))
      .ltrim(this.#place, 0, KEPT_LETTERS - 1)
      .exec();
    return letter;
  }

  /** The newest first. */
  async list(limit = KEPT_LETTERS): Promise<DeadLetter[]> {
    const list = await this.#store.redis.lrange(this.#place, 0, limit - 1);
    return list.map((json) => letterSchema.parse(JSON.parse(json)));
  }
}
