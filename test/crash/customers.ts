import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { acceptMessage, Queues } from '../../src/producers/index.ts';
import { ingressConnection, Store } from '../../src/store/index.ts';
import type { PlannedMessage } from './load.ts';
import type { Random } from './random.ts';

/** How messages are handed over. */
export type Manner = {
  /** Chance that it is done twice at once. */
  twice: number;
  /** Whether anybody is poked. */
  wakes: boolean;
  slackMs: number;
  mayWrite(message: PlannedMessage): Promise<void>;
};

export type AcceptedMessage = { planned: PlannedMessage; id: string };

/**
 * The customers write: each its own messages in order, with pauses, and the source hands a message over again until it was
 * told that it is stored, sometimes twice at once and under two delivery ids.
 */
export class Customers {
  /** What was answered with "stored", by conversation, in the order of acceptance. */
  readonly accepted: AcceptedMessage[] = [];
  /** Deliveries that were answered with an error and tried again. */
  retries = 0;
  readonly #store: Store;
  readonly #queues: Queues;
  readonly #manner: Manner;
  #closing = false;

  constructor(redisUrl: string, manner: Manner) {
    this.#manner = manner;
    const { slackMs } = manner;
    const redis = ingressConnection(redisUrl);
    this.#store = new Store({ redis, slackMs });
    this.#queues = new Queues(this.#store);
  }

  async writeAll(
    conversations: readonly (readonly PlannedMessage[])[],
    paceMs: number,
    random: Random,
  ): Promise<void> {
    await once(this.#store.redis, 'ready');
    await Promise.all(
      conversations.map((messages) => this.#write(messages, paceMs, random.fork())),
    );
  }

  /** Also in the middle of writing. */
  async close(): Promise<void> {
    this.#closing = true;
    await this.#queues.close().catch(() => {});
    this.#store.redis.disconnect();
  }

  async #write(messages: readonly PlannedMessage[], paceMs: number, random: Random): Promise<void> {
    for (const planned of messages) {
      if (this.#closing) return;
      // Every third comes right behind the one before it.
      if (!random.chance(0.34)) await pause(random.between(0, paceMs));
      await this.#manner.mayWrite(planned);
      const handOvers = random.chance(this.#manner.twice) ? ['a', 'b'] : ['a'];
      const ids = await Promise.all(handOvers.map((delivery) => this.#handOver(planned, delivery)));
      this.accepted.push({ planned, id: ids[0] ?? '' });
    }
  }

  async #handOver({ ticket }: PlannedMessage, delivery: string): Promise<string> {
    while (!this.#closing) {
      try {
        const deliveryId = `${ticket.conversationId}-${ticket.messageId}-${delivery}`;
        const message = { ...ticket, deliveryId };
        const { id } = this.#manner.wakes
          ? await acceptMessage(this.#store, this.#queues, message)
          : await this.#store.acceptMessage(message);
        return id;
      } catch {
        this.retries += 1;
        await pause(100);
      }
    }
    return '';
  }
}
