import { describe, expect, test } from 'vitest';
import type { TurnEvent } from '../../src/contracts/index.ts';
import { after, at, finish, over, requested, responded, started } from '../support/turn-events.ts';

const asked = [started(), requested()];

type Judged = Extract<TurnEvent, { type: 'finish_judged' }>;
const judged = (more: Omit<Judged, 'type' | 'at'> = {}): Judged => ({
  type: 'finish_judged',
  at,
  ...more,
});
const candidate = [...asked, responded(finish)];
/** One candidate after the other, each judged like this. */
const sentBack = (times: number, more: Omit<Judged, 'type' | 'at'>): TurnEvent[] =>
  Array.from({ length: times }, (_, index) => [
    ...(index === 0 ? candidate : [...asked.slice(1), responded(finish)]),
    judged(more),
  ]).flat();

describe('[S2-43] a finish candidate that was judged', () => {
  test('ends the turn as it said, with the words that are sent where they are not its own', () => {
    const plain = after(...candidate, judged());
    const rendered = after(...candidate, judged({ reply: 'Hello. [1]' }));

    expect(plain.ending).toEqual({ outcome: 'completed', reason: 'replied' });
    expect(plain.rounds.at(-1)).not.toHaveProperty('reply');
    expect(rendered.ending).toEqual(plain.ending);
    expect(rendered.rounds.at(-1)?.reply).toBe('Hello. [1]');
  });

  test('goes back with the objection, beside the rounds before it, twice and no more', () => {
    const once = after(...sentBack(1, { objection: 'not verified' }));
    const twice = after(...sentBack(2, { objection: 'not verified' }));
    const thrice = after(...sentBack(3, { objection: 'not verified' }));

    expect([once.phase, twice.phase]).toEqual(['requesting_model', 'requesting_model']);
    expect(twice.rounds.map(({ objection }) => objection)).toEqual([
      'not verified',
      'not verified',
    ]);
    expect(thrice.ending).toEqual({ outcome: 'escalated', reason: 'finish_rejected' });
    expect(thrice.rounds.map(({ objection }) => objection)).toHaveLength(3);
  });

  test('without a source for its claims is sent without them in the end, or not at all', () => {
    const uncited = { objection: 'nobody says so', uncited: true };
    const rest = after(...sentBack(3, { ...uncited, reply: 'The rest.' }));
    const nothing = after(...sentBack(3, uncited));

    expect(rest.ending).toEqual({ outcome: 'completed', reason: 'replied' });
    expect(rest.rounds.at(-1)).toMatchObject({ reply: 'The rest.' });
    expect(rest.rounds.at(-1)).not.toHaveProperty('objection');
    expect(nothing.ending).toEqual({ outcome: 'failed', reason: 'uncited_claim' });
    expect(nothing.rounds.at(-1)).toMatchObject({ objection: 'nobody says so' });
  });

  test('is the last thing of the turn: nothing else can be judged', () => {
    expect(() => after(...asked, judged())).toThrow(/finish_judged/);
    expect(() => after(...candidate, judged(), judged({ objection: 'late' }))).toThrow(
      /finish_judged/,
    );
  });

  test('a question that ended the turn gives way to an objection, as long as its end is not on record', () => {
    const question = responded({ kind: 'ask_customer', text: 'It is cancelled. Anything else?' });
    const objection = judged({ objection: 'it is not' });

    expect(after(...asked, question).ending?.reason).toBe('asked_customer');
    expect(after(...asked, question, objection)).toMatchObject({
      ...{ phase: 'requesting_model', rejectedFinishes: 1 },
      rounds: [{ objection: 'it is not' }],
    });
    expect(after(...asked, question, objection)).not.toHaveProperty('ending');
    expect(() => after(...asked, question, judged())).toThrow(/finish_judged/);
    expect(() => after(...asked, question, over, objection)).toThrow(/finish_judged/);
  });
});
