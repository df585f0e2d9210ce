import { OUTCOMES, type Outcome } from '../contracts/index.ts';
import { sourceOf } from './conversation-id.ts';
import { key } from './keys.ts';
import { Records } from './records.ts';
import type { Store } from './store.ts';

/** A turn as a list shows it: read from its head alone. */
export type TurnHead = {
  turnId: string;
  conversationId: string;
  outcome: Outcome | null;
  reason: string | null;
  /** What it waits for; null when it waits for nothing. */
  waitsFor: string | null;
  startedAt: number;
  endedAt: number | null;
};

/** Where an accepted message is. */
export type MessageView = {
  id: string;
  /** Null when its turn is not on record any more. */
  conversationId: string | null;
  /** The turn that has claimed or answered it. */
  turn: TurnHead | null;
};

/** Turns looked at for a list that shows one source only. */
const LOOKED_AT = 1_000;

/** What the HTTP service reads beside `Records`. */
export class HttpRecords {
  readonly #store: Store;
  readonly #records: Records;

  constructor(store: Store) {
    this.#store = store;
    this.#records = new Records(store);
  }

  async message(id: string): Promise<MessageView | undefined> {
    for (const tag of this.#store.tags()) {
      const place = await this.#store.redis.get(key(tag, 'msg', id));
      if (place === null) continue;
      // A conversation's id holds a slash, a turn's never does.
      if (place.includes('/')) {
        return { id, conversationId: place, turn: (await this.#claimedBy(place, id)) ?? null };
      }
      const turn = await this.#head(tag, place);
      return { id, conversationId: turn?.conversationId ?? null, turn: turn ?? null };
    }
    return undefined;
  }

  /** Newest first: the open turns, then the ended ones. */
  async turns(options: { limit: number; open?: boolean; source?: string }): Promise<TurnHead[]> {
    const { limit, open = false, source } = options;
    const looked = source === undefined ? limit : Math.max(limit, LOOKED_AT);
    const ids = await this.#records.turnIds({ limit: looked, open });
    const heads = await Promise.all(ids.map((id) => this.turn(id)));
    return heads
      .flatMap((head) => (head === undefined ? [] : [head]))
      .filter((head) => source === undefined || sourceOf(head.conversationId) === source)
      .slice(0, limit);
  }

  async turn(turnId: string): Promise<TurnHead | undefined> {
    for (const tag of this.#store.tags()) {
      const head = await this.#head(tag, turnId);
      if (head !== undefined) return head;
    }
    return undefined;
  }

  /** Whether Redis takes writes: a value of ours that is gone after ten seconds. */
  async probe(): Promise<void> {
    await Promise.all(
      this.#store.tags().map((tag) => this.#store.redis.set(key(tag, 'probe'), '1', 'PX', 10_000)),
    );
  }

  /** The open turn of a conversation, if the message is one of those it took. */
  async #claimedBy(conversationId: string, messageId: string): Promise<TurnHead | undefined> {
    const { redis } = this.#store;
    const tag = this.#store.tagOf(conversationId);
    const turnId = await redis.hget(key(tag, 'conv', conversationId), 'turn');
    if (turnId === null) return undefined;
    const count = Number((await redis.hget(key(tag, 'turn', turnId), 'messages')) ?? 0);
    const mail = await redis.lrange(key(tag, 'mail', conversationId), 0, count - 1);
    const taken = mail.some((json) => (JSON.parse(json) as { id: string }).id === messageId);
    return taken && count > 0 ? this.#head(tag, turnId) : undefined;
  }

  async #head(tag: string, turnId: string): Promise<TurnHead | undefined> {
    const [conversationId, outcome, reason, startedAt, endedAt, parkDueAt, parkKind] =
      await this.#store.redis.hmget(
        key(tag, 'turn', turnId),
        ...['conversation', 'outcome', 'reason', 'startedAt', 'endedAt', 'parkDueAt', 'parkKind'],
      );
    if (!conversationId) return undefined;
    return {
      turnId,
      conversationId,
      outcome: OUTCOMES.find((one) => one === outcome) ?? null,
      reason: reason ?? null,
      waitsFor: parkDueAt ? (parkKind ?? null) : null,
      startedAt: Number(startedAt),
      endedAt: endedAt ? Number(endedAt) : null,
    };
  }
}
