import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import type { Random } from '../crash/random.ts';
import type { DeskFake } from '../support/desks/desk-fake.ts';
import type { DeskRunSettings } from './settings.ts';
import type { DeskStage } from './stage.ts';

/** A ticket of a run: what its customer asked, and when one of the staff answered. */
export type Thread = {
  desk: DeskFake;
  ticket: string;
  /** What each message asks for, in their order. No one is part of another one. */
  asked: string[];
  /** How many of them the customer had been answered when a person took over; nothing where none did. */
  beforePeople: number | undefined;
};

/** The customers of four desks write, each at their own pace, and now and then a person of the staff answers. */
export class DeskCustomers {
  readonly threads: Thread[];
  readonly #stage: DeskStage;
  readonly #settings: DeskRunSettings;
  readonly #stop = new AbortController();
  readonly #stopped = once(this.#stop.signal, 'abort');

  constructor(stage: DeskStage, settings: DeskRunSettings) {
    this.#stage = stage;
    this.#settings = settings;
    this.threads = stage.desks.flatMap((desk) =>
      Array.from({ length: settings.tickets }, () => ({
        ...{ desk, ticket: desk.openTicket(), asked: [], beforePeople: undefined },
      })),
    );
  }

  /** Resolves when all have written: their last messages not before `until`. */
  async write(random: Random, until: Promise<void>): Promise<void> {
    await Promise.all(this.threads.map((thread) => this.#writeIn(thread, random.fork(), until)));
  }

  close(): void {
    this.#stop.abort();
  }

  async #writeIn(thread: Thread, random: Random, until: Promise<void>): Promise<void> {
    const { messages, paceMs, withPeople } = this.#settings;
    const peopleAt = random.chance(withPeople) ? Math.ceil(messages / 2) : undefined;
    for (let number = 1; number <= messages; number += 1) {
      // Every third comes right behind the one before it.
      if (!random.chance(0.34)) await this.#pause(random.between(0, paceMs));
      if (number === messages) await Promise.race([until, this.#stopped]);
      if (number === peopleAt) await this.#answerAsPerson(thread);
      if (this.#stop.signal.aborted) return;
      const { desk, ticket, asked } = thread;
      const question = `<${desk.kind} ${ticket} ${number}>`.replaceAll(/[<>]/g, '|');
      desk.say(ticket, question);
      asked.push(question);
    }
  }

  /** Once the customer has been answered, so that what comes after it can be told from what was on its way. */
  async #answerAsPerson(thread: Thread): Promise<void> {
    const { desk, ticket, asked } = thread;
    const { records } = this.#stage;
    await this.#until(() => Promise.resolve(desk.replies(ticket).length >= asked.length));
    if (this.#stop.signal.aborted) return;
    desk.sayAsHuman(ticket, 'I take care of this myself.');
    thread.beforePeople = asked.length;
    await this.#until(async () => {
      const conversation = await records.conversation(`${desk.kind}/${ticket}`);
      return conversation?.holder.owner === 'human';
    });
  }

  async #until(ready: () => Promise<boolean>): Promise<void> {
    while (!this.#stop.signal.aborted && !(await ready())) await this.#pause(50);
  }

  async #pause(ms: number): Promise<void> {
    await pause(ms, undefined, { signal: this.#stop.signal }).catch(() => undefined);
  }
}
