import type { Race, SettingsStore } from './settings.ts';

/** Counts the authoritative reads of the order a race is set on, and says when the other side strikes. */
export class RaceScript {
  readonly #settings: SettingsStore;
  #reads = 0;

  constructor(settings: SettingsStore) {
    this.#settings = settings;
  }

  /** Call it when a race is set: counting starts again. */
  restart(): void {
    this.#reads = 0;
  }

  /** Call it once per authoritative read; answers the change to make after this one, if any. */
  afterReadOf(orderId: string): Race['change'] | undefined {
    const { race } = this.#settings.current;
    if (race?.orderId !== orderId) return undefined;
    this.#reads += 1;
    return this.#reads === race.afterRead ? race.change : undefined;
  }
}
