/** Handles items in order with at most `width` in flight. Rejects with the first failure. */
export async function concurrently<T>(
  items: Iterable<T>,
  width: number,
  handle: (item: T) => Promise<unknown>,
): Promise<void> {
  const rest = items[Symbol.iterator]();
  const lane = async (): Promise<void> => {
    for (let next = rest.next(); next.done !== true; next = rest.next()) await handle(next.value);
  };
  await Promise.all(Array.from({ length: width }, lane));
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}

/** Counts up; others wait until there are enough. */
export class Counter {
  count = 0;
  readonly #waiters = new Set<{ goal: number; resolve: () => void }>();

  add(): void {
    this.count += 1;
    for (const waiter of this.#waiters) if (this.count >= waiter.goal) waiter.resolve();
  }

  /** Resolves once there are `goal` of them. @throws Error when they do not come, so that a bench cannot hang */
  async reached(goal: number, withinMs = 600_000): Promise<void> {
    if (this.count >= goal) return;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiter = { goal, resolve };
    this.#waiters.add(waiter);
    const timer = setTimeout(() => {
      reject(new Error(`${this.count} instead of ${goal} after ${withinMs} ms`));
    }, withinMs);
    await promise.finally(() => {
      clearTimeout(timer);
      this.#waiters.delete(waiter);
    });
  }
}
