import { once } from 'node:events';
import type { Redis } from 'ioredis';
import type { TurnEvent } from '../contracts/index.ts';
import { decodeEvent } from './event-codec.ts';
import { key } from './keys.ts';
import type { Store } from './store.ts';

/** What the model of a turn is writing just now: the last part of it, replaced by the next one. */
export type Writing = { type: 'model_writing'; text: string };

/** `text`: what is being written; without, there is a new event. */
type Follower = (text?: string) => void;

/** Follows turns as their events are recorded. One subscriber connection per process, opened at the first use. */
export class TurnFeed {
  readonly #store: Store;
  readonly #followers = new Map<string, Set<Follower>>();
  #subscriber: Redis | undefined;

  constructor(store: Store) {
    this.#store = store;
  }

  /**
   * Every event of a turn, those on record first, and in between what its model is writing, where a provider streams it;
   * over when the turn has ended or the signal says so.
   *
   * @param after number of events the caller has seen already
   */
  async *follow(
    turnId: string,
    signal: AbortSignal,
    after = 0,
  ): AsyncGenerator<TurnEvent | Writing, undefined> {
    const events = await this.#place(turnId);
    if (events === undefined) return;
    // Raised by every new event, and looked at after each read: what comes in between is not missed.
    let fresh = Promise.withResolvers<void>();
    let text: string | undefined;
    const follower: Follower = (written) => {
      text = written;
      fresh.resolve();
    };
    const wake = (): void => fresh.resolve();
    signal.addEventListener('abort', wake);
    await this.#subscribe(events, follower);
    try {
      for (let next = after; !signal.aborted;) {
        fresh = Promise.withResolvers<void>();
        if (text !== undefined) yield { type: 'model_writing', text };
        text = undefined;
        for (const json of await this.#store.redis.lrange(events, next, -1)) {
          const event = decodeEvent(json);
          yield event;
          if (event.type === 'turn_ended') return;
          next += 1;
        }
        // Aborted while the list was read.
        if (signal.aborted) return;
        await fresh.promise;
      }
    } finally {
      signal.removeEventListener('abort', wake);
      await this.#unsubscribe(events, follower);
    }
  }

  close(): void {
    this.#subscriber?.disconnect();
    this.#subscriber = undefined;
    for (const followers of this.#followers.values()) followers.forEach((wake) => wake());
  }

  async #place(turnId: string): Promise<string | undefined> {
    for (const tag of this.#store.tags()) {
      const found = await this.#store.redis.exists(key(tag, 'turn', turnId));
      if (found === 1) return key(tag, 'events', turnId);
    }
    return undefined;
  }

  async #subscribe(channel: string, follower: Follower): Promise<void> {
    const followers = this.#followers.get(channel) ?? new Set();
    this.#followers.set(channel, followers.add(follower));
    await (await this.#connection()).subscribe(channel);
  }

  async #unsubscribe(channel: string, follower: Follower): Promise<void> {
    const followers = this.#followers.get(channel);
    followers?.delete(follower);
    if (followers === undefined || followers.size > 0) return;
    this.#followers.delete(channel);
    await this.#subscriber?.unsubscribe(channel).catch(() => {});
  }

  async #connection(): Promise<Redis> {
    this.#subscriber ??= this.#open();
    const subscriber = this.#subscriber;
    if (subscriber.status !== 'ready') await once(subscriber, 'ready');
    return subscriber;
  }

  #open(): Redis {
    const subscriber = this.#store.redis.duplicate({ enableOfflineQueue: true });
    subscriber.on('error', () => {});
    subscriber.on('message', (channel: string, message: string) => {
      const text = message.startsWith('{')
        ? (JSON.parse(message) as { writing: string }).writing
        : undefined;
      this.#followers.get(channel)?.forEach((follower) => follower(text));
    });
    // What was published while the connection was gone is looked for.
    subscriber.on('ready', () => {
      for (const followers of this.#followers.values()) followers.forEach((wake) => wake());
    });
    return subscriber;
  }
}
