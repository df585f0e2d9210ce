import type { Clock } from '../src/loop/index.ts';

/** The time of one case. It stands still until its host has to wait for something. */
export class CaseClock implements Clock {
  #now: number;

  /** @param startsAt milliseconds since the epoch */
  constructor(startsAt: number) {
    this.#now = startsAt;
  }

  now(): number {
    return this.#now;
  }

  advance(ms: number): void {
    this.#now += Math.max(0, ms);
  }

  /** Never goes back. */
  advanceTo(moment: number): void {
    this.advance(moment - this.#now);
  }
}
