import { key as placeOf } from './keys.ts';
import type { Store } from './store.ts';

type Count = {
  /** What Redis knew when it was asked last: of all processes. */
  known: number;
  /** Counted here since. */
  fresh: number;
  /** End of the window, by this process' monotonic clock in milliseconds. */
  until: number;
};

/** Adds to a count and opens its window if it has none. KEYS 1 count; ARGV 1 how much 2 window in ms. Returns {count, ms left} */
const ADD = `
local count = redis.call('INCRBY', KEYS[1], ARGV[1])
if redis.call('PTTL', KEYS[1]) < 0 then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return { count, redis.call('PTTL', KEYS[1]) }
`;

/** Milliseconds between two exchanges with Redis. */
const EXCHANGE_MS = 100;
const MOST_KEYS = 100_000;

/**
 * Counts per window that all processes share. A request never waits for it: each process counts what it sees and exchanges
 * it with Redis ten times a second, so that together they let through at most what comes within that time too much.
 */
export class SharedCounts {
  readonly #store: Store;
  readonly #windowMs: number;
  readonly #counts = new Map<string, Count>();
  #timer: NodeJS.Timeout | undefined;

  /** @param windowMs how long is counted before a count starts anew */
  constructor(store: Store, windowMs: number) {
    this.#store = store;
    this.#windowMs = windowMs;
  }

  /** Counts one more. @returns the count so far and the milliseconds until it starts anew */
  add(key: string): { current: number; ttl: number } {
    const now = performance.now();
    let count = this.#counts.get(key);
    if (count === undefined || count.until <= now) {
      if (this.#counts.size >= MOST_KEYS) this.#counts.clear();
      count = { known: 0, fresh: 0, until: now + this.#windowMs };
      this.#counts.set(key, count);
    }
    count.fresh += 1;
    this.#timer ??= setTimeout(() => void this.exchange(), EXCHANGE_MS).unref();
    return { current: count.known + count.fresh, ttl: count.until - now };
  }

  close(): void {
    clearTimeout(this.#timer);
  }

  /** Tells Redis what was counted here, and hears of the others; done by itself. */
  async exchange(): Promise<void> {
    const now = performance.now();
    const dirty = [...this.#counts].filter(([key, count]) => {
      if (count.until <= now) this.#counts.delete(key);
      return count.until > now && count.fresh > 0;
    });
    // Without Redis each process goes on counting for itself.
    await Promise.all(dirty.map(([key, count]) => this.#exchangeOne(key, count).catch(() => {})));
    this.#timer = undefined;
  }

  async #exchangeOne(key: string, count: Count): Promise<void> {
    const [tag = ''] = this.#store.tags();
    const { fresh } = count;
    const place = placeOf(tag, 'rate', key);
    const reply = await this.#store.redis.eval(ADD, 1, place, fresh, this.#windowMs);
    const [known, left] = reply as [number, number];
    count.fresh -= fresh;
    count.known = known;
    count.until = performance.now() + left;
  }
}
