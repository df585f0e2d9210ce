import { describe, expect, test } from 'vitest';
import {
  DEFAULT_LIMITS,
  type Account,
  type Caps,
  type Delivery,
} from '../../src/contracts/index.ts';
import {
  accountAfter,
  accountOf,
  budgetLeft,
  exhaustedBy,
  repliesUsedUp,
} from '../../src/loop/account.ts';
import { initialState } from '../../src/loop/index.ts';

const NOW = Date.parse('2026-12-01T12:00:00Z');
const account: Account = {
  ...{ tokens: 1_000, costMicros: 2_000, replies: 5 },
  ...{ day: '2026-12-01', dayTokens: 100, dayCostMicros: 200, dayReplies: 2 },
};
const turn = (tokens = 0, costMicros = 0, limits = {}) => ({
  ...initialState({ ...DEFAULT_LIMITS, tokens: 10_000, costMicros: 10_000, ...limits }),
  spent: { toolCalls: 0, parks: 0, tokens, costMicros },
});
const rules = (conversation: Caps = {}, day: Caps = {}) => ({ caps: { conversation, day } });

/** What a call of 10 tokens for 20 micro-dollars would overdraw. */
const overdraws = (
  caps: ReturnType<typeof rules>,
  state = turn(),
  claimed: { account?: Account } = { account },
  now = NOW,
) => exhaustedBy({ tokens: 10, costMicros: 20 }, state, claimed, caps, now);

describe('[P8] [S0-54] [S4-57] what a model call would overdraw is known before it is made', () => {
  test('the turn: at its limit the call is made, one beyond it is not', () => {
    expect(overdraws(rules(), turn(9_990))).toBeUndefined();
    expect(overdraws(rules(), turn(9_991))).toBe('token_budget');
    expect(overdraws(rules(), turn(0, 9_980))).toBeUndefined();
    expect(overdraws(rules(), turn(0, 9_981))).toBe('cost_budget');
  });

  test.each([
    ['tokens of the conversation', { tokens: 1_010 }, {}, 'token_budget'],
    ['money of the conversation', { costMicros: 2_020 }, {}, 'cost_budget'],
    ['tokens of the day', {}, { tokens: 110 }, 'token_budget'],
    ['money of the day', {}, { costMicros: 220 }, 'cost_budget'],
  ] as const)(
    '%s: at the cap the call is made, one beyond it is not',
    (_name, all, day, reason) => {
      expect(overdraws(rules(all, day))).toBeUndefined();
      const one = (cap: Caps): Caps =>
        Object.fromEntries(Object.entries(cap).map(([name, value]) => [name, value - 1]));
      expect(overdraws(rules(one(all), one(day)))).toBe(reason);
    },
  );

  test('what the turn has spent itself counts toward every cap', () => {
    expect(overdraws(rules({ tokens: 1_011 }), turn(1))).toBeUndefined();
    expect(overdraws(rules({ tokens: 1_010 }), turn(1))).toBe('token_budget');
    expect(overdraws(rules({}, { costMicros: 220 }), turn(0, 1))).toBe('cost_budget');
  });

  test('[S4-34] when both are overdrawn, money is named', () => {
    expect(overdraws(rules(), turn(10_000, 10_000))).toBe('cost_budget');
  });

  test('a conversation without an account has used nothing, and a new day begins at nothing', () => {
    const tomorrow = NOW + 86_400_000;

    expect(overdraws(rules({ tokens: 10 }), turn(), {})).toBeUndefined();
    expect(overdraws(rules({}, { tokens: 10 }))).toBe('token_budget');
    expect(overdraws(rules({}, { tokens: 10 }), turn(), { account }, tomorrow)).toBeUndefined();
    expect(overdraws(rules({ tokens: 1_009 }), turn(), { account }, tomorrow)).toBe('token_budget');
  });

  test('the day is a day of UTC', () => {
    const last = Date.parse('2026-12-01T23:59:59.999Z');

    expect(accountOf({ account }, last)).toEqual(account);
    expect(accountOf({ account }, last + 1)).toEqual({
      ...account,
      ...{ day: '2026-12-02', dayTokens: 0, dayCostMicros: 0, dayReplies: 0 },
    });
    expect(accountOf({}, NOW)).toEqual({
      ...{ tokens: 0, costMicros: 0, replies: 0 },
      ...{ day: '2026-12-01', dayTokens: 0, dayCostMicros: 0, dayReplies: 0 },
    });
  });
});

describe('[P8] replies of a conversation', () => {
  test.each([
    ['in all', { replies: 5 }, {}],
    ['of a day', {}, { replies: 2 }],
  ] as const)('%s: at the cap none is left, one below it one is', (_name, all, day) => {
    const more = (cap: Caps): Caps =>
      Object.fromEntries(Object.entries(cap).map(([name, value]) => [name, value + 1]));

    expect(repliesUsedUp({ account }, rules(all, day), NOW)).toBe(true);
    expect(repliesUsedUp({ account }, rules(more(all), more(day)), NOW)).toBe(false);
  });

  test('without a cap there is no end, and tomorrow there are new ones', () => {
    expect(repliesUsedUp({ account }, rules(), NOW)).toBe(false);
    expect(repliesUsedUp({ account }, rules({}, { replies: 2 }), NOW + 86_400_000)).toBe(false);
    expect(repliesUsedUp({ account }, rules({ replies: 5 }), NOW + 86_400_000)).toBe(true);
    expect(repliesUsedUp({}, rules({ replies: 1 }), NOW)).toBe(false);
  });
});

describe('the account after a turn', () => {
  const out = (kind: Delivery['kind']): Delivery => ({ id: kind, kind, text: 'x', turnId: 't' });

  test('[S0-54] holds what was used and what is still reserved, and counts replies only', () => {
    const state = { ...turn(30, 40), reserved: { tokens: 1, costMicros: 2 } };
    const deliveries = [out('reply'), out('note'), out('handover'), out('holding')];

    expect(accountAfter({ account }, state, deliveries, NOW)).toEqual({
      ...{ tokens: 1_031, costMicros: 2_042, replies: 6 },
      ...{ day: '2026-12-01', dayTokens: 131, dayCostMicros: 242, dayReplies: 3 },
    });
  });

  test('begins the day anew when it is another one', () => {
    expect(accountAfter({ account }, turn(30, 40), [], NOW + 86_400_000)).toEqual({
      ...{ tokens: 1_030, costMicros: 2_040, replies: 5 },
      ...{ day: '2026-12-02', dayTokens: 30, dayCostMicros: 40, dayReplies: 0 },
    });
  });

  test('what is left of a turn is the least of its limits and the caps of its conversation, without what it spent', () => {
    const left = (conversation: Caps = {}, day: Caps = {}) =>
      budgetLeft(turn(30, 40), { account }, rules(conversation, day), NOW);

    expect(left()).toEqual({ tokens: 9_970, costMicros: 9_960 });
    expect(left({ tokens: 1_050 }, { costMicros: 250 })).toEqual({ tokens: 20, costMicros: 10 });
    expect(left({ costMicros: 2_050 }, { tokens: 150 })).toEqual({ tokens: 20, costMicros: 10 });
  });
});
