import { setTimeout as elapse } from 'node:timers/promises';
import { Random } from '../../crash/random.ts';
import type { HookAnswer, HookEvent, Vendor } from './vendor.ts';

export type HookOptions = {
  /** Where events go. May be set later. Without one nothing is sent, and nothing is lost. */
  url?: string;
  /** Share of events that are sent twice, 0 to 1. Default 0. */
  duplicates?: number;
  /** Each copy waits a random time up to this, so that events overtake each other. Milliseconds, default 0. */
  reorderMs?: number;
  /** What one documented second between two tries takes here, in milliseconds. Default 1. */
  paceMs?: number;
  /** Default 1. */
  seed?: number;
};

/** One try to hand over an event. */
export type HookLogEntry = { event: number; attempt: number; status: number | 'no_answer' };

type Sending = { event: HookEvent; number: number; text: string };

/** Sends a desk's events as the desk would: signed, with its time-out and its retries, perhaps twice or late. */
export class Hooks {
  readonly log: HookLogEntry[] = [];
  readonly options: HookOptions;
  readonly #vendor: Vendor;
  readonly #random: Random;
  readonly #underWay = new Set<Promise<void>>();
  readonly #stop = new AbortController();
  #lost: Sending[] = [];
  #count = 0;

  constructor(vendor: Vendor, options: HookOptions) {
    this.#vendor = vendor;
    this.options = { ...options };
    this.#random = new Random(options.seed ?? 1);
  }

  /** Events the desk gave up on. */
  get lost(): number {
    return this.#lost.length;
  }

  emit(event: HookEvent): void {
    const { url, duplicates = 0 } = this.options;
    if (url === undefined) return;
    const number = this.#count++;
    const sending = { event, number, text: JSON.stringify(event.body) };
    const copies = this.#random.chance(duplicates) ? 2 : 1;
    for (let copy = 0; copy < copies; copy += 1) this.#track(this.#deliver(sending, copy));
  }

  /** Sends once more what was given up on, as a person would from the desk's log. */
  redeliverLost(): void {
    const again = this.#lost;
    this.#lost = [];
    for (const sending of again) this.#track(this.#deliver(sending, 0));
  }

  /** Until no event is under way any more. */
  async settled(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.all(this.#underWay);
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.settled();
  }

  #track(work: Promise<void>): void {
    const tracked = work.finally(() => this.#underWay.delete(tracked));
    this.#underWay.add(tracked);
  }

  async #deliver(sending: Sending, copy: number): Promise<void> {
    const { reorderMs = 0, paceMs = 1 } = this.options;
    await this.#pause(Math.floor(this.#random.next() * reorderMs));
    for (let attempt = 1; !this.#stop.signal.aborted; attempt += 1) {
      const answer = await this.#post(sending, copy);
      this.log.push({ event: sending.number, attempt, status: answer.status });
      if (typeof answer.status === 'number' && answer.status >= 200 && answer.status < 300) return;
      const wait = this.#vendor.retryAfter(attempt, answer);
      if (wait === undefined) break;
      await this.#pause((wait / 1_000) * paceMs);
    }
    this.#lost.push(sending);
  }

  async #post({ event, text }: Sending, copy: number): Promise<HookAnswer> {
    const { url = '' } = this.options;
    const timeout = AbortSignal.timeout(this.#vendor.hookTimeoutMs);
    try {
      const response = await fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...event.headers(text, copy) },
        body: text,
        signal: AbortSignal.any([timeout, this.#stop.signal]),
      });
      await response.arrayBuffer();
      const later = Number(response.headers.get('retry-after') ?? Number.NaN) * 1_000;
      return { status: response.status, ...(Number.isNaN(later) ? {} : { retryAfterMs: later }) };
    } catch {
      return { status: 'no_answer' };
    }
  }

  async #pause(ms: number): Promise<void> {
    if (ms > 0) await elapse(ms, undefined, { signal: this.#stop.signal }).catch(() => undefined);
  }
}
