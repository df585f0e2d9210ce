import { setTimeout as pause } from 'node:timers/promises';
import { QUEUES } from '../../src/contracts/index.ts';
import { key } from '../../src/store/keys.ts';
import type { Blocked } from '../../src/store/records.ts';
import type { Finding } from './judge.ts';
import type { PlannedMessage } from './load.ts';
import type { RunSettings } from './settings.ts';
import type { Stage } from './stage.ts';

/** How far the run is, and what is left when it is over. */
export class House {
  answered = 0;
  readonly #stage: Stage;
  readonly #messages: readonly PlannedMessage[];

  constructor(stage: Stage, messages: readonly PlannedMessage[]) {
    this.#stage = stage;
    this.#messages = messages;
  }

  /** True when every message is answered, every text sent and nobody has anything to look after; false at the deadline. */
  async rest(
    { timeLimitMs, stillMs }: Pick<RunSettings, 'timeLimitMs' | 'stillMs'>,
    onProgress: (line: string) => void = () => {},
  ): Promise<boolean> {
    const { redis, store } = this.#stage.onlooker;
    const [tag = ''] = store.tags();
    const count = (kind: 'ended' | 'due' | 'undelivered') => redis.zcard(key(tag, kind));
    const startedAt = Date.now();
    let [told, moved] = [startedAt, startedAt];
    while (Date.now() < Math.min(startedAt + timeLimitMs, moved + stillMs)) {
      const [ended, due, undelivered] = await Promise.all([
        count('ended'),
        count('due'),
        count('undelivered'),
      ]);
      if (ended !== this.answered) moved = Date.now();
      this.answered = ended;
      if (ended >= this.#messages.length && due + undelivered === 0) return true;
      if (Date.now() - told > 5_000) {
        told = Date.now();
        onProgress(`${ended} of ${this.#messages.length} messages answered`);
      }
      await pause(100);
    }
    return false;
  }

  async whatHangs(): Promise<Finding[]> {
    const { records, redis, store } = this.#stage.onlooker;
    const [tag = ''] = store.tags();
    const blocked = await records.blocked();
    const [due, undelivered] = await Promise.all(
      (['due', 'undelivered'] as const).map((kind) => redis.zrange(key(tag, kind), '0', '9')),
    );
    const left = `turns of ${due?.join(', ') || 'nobody'}, texts to ${undelivered?.join(', ') || 'nobody'}`;
    return [
      {
        rule: 'comes to rest',
        what: `${this.answered} of ${this.#messages.length} messages answered; left: ${left}`,
      },
      ...blocked.slice(0, 10).map((one) => ({ rule: 'comes to rest', what: describe(one) })),
    ];
  }

  /** A job that stays behind would swallow the next poke of its conversation. */
  async leftovers(): Promise<Finding[]> {
    const { queues, store } = this.#stage.onlooker;
    const [tag = ''] = store.tags();
    let left: string[] = [];
    // What was active in a process that is gone is noticed a few seconds later.
    for (let look = 0; look < 100; look += 1) {
      left = [];
      for (const name of Object.values(QUEUES)) {
        const jobs = await queues.inLane(name, tag).getJobCounts();
        for (const [state, count] of Object.entries(jobs)) {
          if (count > 0) left.push(`${count} ${state} in ${name}`);
        }
      }
      if (left.length === 0) return [];
      await pause(100);
    }
    return left.map((what) => ({ rule: 'no job left behind', what }));
  }
}

function describe({ conversationId, turnId, phase, behind, park, holder }: Blocked): string {
  const waits =
    park === null
      ? ''
      : `, parked (${park.kind} ${park.number}) until ${new Date(park.dueAt).toISOString()}`;
  return `${conversationId} turn ${turnId || '(none)'} is ${phase}, ${behind} behind${waits}; worker ${holder.worker}`;
}
