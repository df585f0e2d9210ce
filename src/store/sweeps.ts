import { digest } from '../loop/index.ts';
import { conversationIdOf, messageIdOf } from './conversation-id.ts';
import { key } from './keys.ts';
import type { Store } from './store.ts';

/** What a source is asked for when somebody looks for what it sent and we never got. */
export class Sweeps {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  #place(kind: 'sweep' | 'sweeping', source: string): string {
    return `${this.#store.tags()[0] ?? ''}:${kind}:${source}`;
  }

  /** Up to when everything of the source has been looked at. Milliseconds since the epoch; nothing before the first time. */
  async since(source: string): Promise<number | undefined> {
    const since = await this.#store.redis.get(this.#place('sweep', source));
    return since === null ? undefined : Number(since);
  }

  async reached(source: string, at: number): Promise<void> {
    await this.#store.redis.set(this.#place('sweep', source), at);
  }

  /** True for one process in so many milliseconds: several of them look once. */
  async turnOf(source: string, everyMs: number): Promise<boolean> {
    const place = this.#place('sweeping', source);
    return (await this.#store.redis.set(place, '1', 'PX', everyMs, 'NX')) === 'OK';
  }

  /** Which of the messages of a conversation have come in, from its customer or as what one of the staff wrote. */
  async known(
    source: string,
    externalId: string,
    messageIds: readonly string[],
  ): Promise<Set<string>> {
    if (messageIds.length === 0) return new Set();
    const conversationId = conversationIdOf(source, externalId);
    const tag = this.#store.tagOf(conversationId);
    const names = messageIds.flatMap((one) => [
      key(tag, 'msg', messageIdOf(source, externalId, one)),
      key(tag, 'msg', digest('human', conversationId, one)),
    ]);
    const found = await this.#store.redis.mget(...names);
    return new Set(
      messageIds.filter((_, at) => found[2 * at] !== null || found[2 * at + 1] !== null),
    );
  }
}
