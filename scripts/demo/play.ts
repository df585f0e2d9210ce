import { setTimeout as elapse } from 'node:timers/promises';
import { messagesOf, type Ticket } from '../../examples/technova/agent/fixtures.ts';
import type { TurnRecord } from '../../src/store/records.ts';
import { answer } from './operator.ts';
import { conversationOf, OPERATOR } from './scenario.ts';
import type { Stage } from './stage.ts';

/** Milliseconds between two looks at the store. */
const LOOK_MS = 100;
/** How long nothing may happen while tickets are not at rest. */
const STANDSTILL_MS = 15_000;
const MOST_TURNS = 10_000;

type Say = (line: string) => void;

/** Plays the customers of the tickets and the person who is asked to approve, and watches what becomes of them. */
export class Play {
  readonly #stage: Stage;
  readonly #tickets: ReadonlyMap<string, Ticket>;
  readonly #ended = new Set<string>();
  readonly #answered = new Set<string>();
  /** Conversations in which somebody waits for a person on purpose. */
  #waiting: ReadonlySet<string> = new Set();

  constructor(stage: Stage, tickets: readonly Ticket[]) {
    this.#stage = stage;
    this.#tickets = new Map(tickets.map((ticket) => [conversationOf(ticket), ticket]));
  }

  /** Hands every message in at its time. */
  async send(): Promise<void> {
    const parts = [...this.#tickets.values()].flatMap(messagesOf);
    await Promise.all(
      parts.map(async ({ afterMs, message }) => {
        if (afterMs > 0) await elapse(afterMs);
        await this.#stage.turnkeeper.accept(message);
      }),
    );
  }

  /**
   * Watches until nothing goes on any more; gives up when nothing has happened for a while, and what is not at rest then
   * shows in the verdict.
   *
   * @param unanswered a ticket whose request for approval is left alone for now
   */
  async untilAtRest(say: Say, unanswered?: string): Promise<void> {
    const busy = new Set(this.#tickets.keys());
    let movedAt = Date.now();
    const told: Say = (line) => {
      movedAt = Date.now();
      say(line);
    };
    for (; busy.size > 0 && Date.now() < movedAt + STANDSTILL_MS; await elapse(LOOK_MS)) {
      await this.#answerRequests(told, unanswered);
      await this.#tellEndings(told);
      await Promise.all(
        [...busy].map(async (conversationId) => {
          if (await this.#isAtRest(conversationId)) busy.delete(conversationId);
        }),
      );
    }
    await this.#tellEndings(say);
  }

  async #answerRequests(say: Say, unanswered: string | undefined): Promise<void> {
    const waiting = new Set<string>();
    for (const approval of await this.#stage.records.pendingApprovals()) {
      const ticket = this.#tickets.get(approval.conversationId);
      if (ticket === undefined || this.#answered.has(approval.id)) continue;
      if (ticket.approval === undefined || ticket.id === unanswered) {
        waiting.add(approval.conversationId);
        if (!this.#waiting.has(approval.conversationId)) {
          say(`${ticket.id.padEnd(26)} waits for a person`);
        }
        continue;
      }
      this.#answered.add(approval.id);
      await answer(this.#stage.settings, approval.id, ticket.approval);
      say(`${ticket.id.padEnd(26)} ${ticket.approval} by ${OPERATOR}`);
    }
    this.#waiting = waiting;
  }

  async #isAtRest(conversationId: string): Promise<boolean> {
    if (this.#waiting.has(conversationId)) return true;
    const conversation = await this.#stage.records.conversation(conversationId);
    return (
      conversation !== undefined && conversation.openTurn === null && conversation.waiting === 0
    );
  }

  /** Says of each turn that has ended since the last look how it did. */
  async #tellEndings(say: Say): Promise<void> {
    const { records } = this.#stage;
    const all = await records.turnIds({ limit: MOST_TURNS });
    const open = new Set(await records.turnIds({ limit: MOST_TURNS, open: true }));
    // One that ends between two looks of the store is in both.
    const fresh = [...new Set(all)].filter((id) => !open.has(id) && !this.#ended.has(id));
    const turns = await Promise.all(fresh.map((id) => records.turn(id)));
    for (const turn of turns.toReversed()) {
      if (turn === undefined || turn.phase !== 'ended') continue;
      this.#ended.add(turn.turnId);
      say(`${this.#nameOf(turn).padEnd(26)} ${turn.outcome}/${turn.reason}`);
    }
  }

  #nameOf({ conversationId, messages }: TurnRecord): string {
    const id = this.#tickets.get(conversationId)?.id ?? conversationId;
    const number = /-(\d+)$/.exec(messages[0]?.messageId ?? '')?.[1] ?? '1';
    return number === '1' ? id : `${id} (message ${number})`;
  }
}
