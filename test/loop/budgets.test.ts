import { describe, expect, test, vi } from 'vitest';
import { within } from '../../src/calls/index.ts';
import {
  DEFAULT_LIMITS,
  type Limits,
  type ProposalInput,
  type Usage,
} from '../../src/contracts/index.ts';
import type { Model, ModelAnswer, View } from '../../src/loop/index.ts';
import { scriptedJudge, type ScriptedAnswer } from '../../src/models/index.ts';
import { Shop, shopTools } from '../support/shop.ts';
import { converse, play, type PlayOptions } from './play.ts';

const get = (orderId: string | number = '1', id = 'c1') => ({
  id,
  tool: 'get_order',
  arguments: { orderId: String(orderId) },
});
const calls = (...list: ReturnType<typeof get>[]): ProposalInput => ({
  kind: 'tool_calls',
  calls: list,
});
const reply: ProposalInput = { kind: 'finish_candidate', reply: 'Done.' };
/** Reads another order each round, `rounds` times, and then replies. */
const reads =
  (rounds: number) =>
  (view: View): ProposalInput =>
    view.rounds.length < rounds ? calls(get(view.rounds.length + 1)) : reply;

/** A shop of many orders. */
function shopOf(count = 20): Shop {
  const shop = new Shop();
  for (let id = 1; id <= count; id += 1) shop.add({ id: String(id) });
  return shop;
}

/** Ends of turns that need one less, exactly, and one more than they may have. */
async function around(
  limit: number,
  options: (needed: number) => PlayOptions,
): Promise<(string | null)[]> {
  const reasons: (string | null)[] = [];
  for (const needed of [limit - 1, limit, limit + 1]) {
    const { turn } = await play({ shop: shopOf(), ...options(needed) });
    reasons.push(turn.reason);
  }
  return reasons;
}

describe('[P8] [S0-52] [S2-34] [S4-27] [S4-56] each account stops the turn by its own name, one beyond its limit', () => {
  test('[S3-30] rounds: the last one may finish, and what it asks for instead is not run', async () => {
    // A turn of n rounds reads in n - 1 of them and replies in the last.
    expect(
      await around(4, (needed) => ({ policy: reads(needed - 1), limits: { rounds: 4 } })),
    ).toEqual(['replied', 'replied', 'max_rounds']);

    const { shop, turn } = await play({ shop: shopOf(), policy: reads(99), limits: { rounds: 3 } });
    expect(shop.calls).toEqual(['get 1', 'get 2']);
    expect(turn.state.rounds).toHaveLength(3);
  });

  test('[S1-15] tool calls of a round: those beyond the limit are answered, not run, and stop nothing', async () => {
    const asking = (count: number) => async () => {
      const { shop, views, turn } = await play({
        shop: shopOf(),
        policy: (view) =>
          view.rounds.length > 0
            ? reply
            : calls(...Array.from({ length: count }, (_, index) => get(index + 1, `c${index}`))),
        limits: { callsPerRound: 3 },
      });
      const codes = views[1]?.rounds[0]?.results.map(({ result }) =>
        'code' in result ? result.code : result.kind,
      );
      return { ran: shop.calls.length, codes, reason: turn.reason, spent: turn.state.spent };
    };

    expect(await asking(2)()).toMatchObject({ ran: 2, codes: ['ok', 'ok'], reason: 'replied' });
    expect(await asking(3)()).toMatchObject({ ran: 3, codes: ['ok', 'ok', 'ok'] });
    expect(await asking(4)()).toMatchObject({
      ran: 3,
      codes: ['ok', 'ok', 'ok', 'max_calls_per_round'],
      reason: 'replied',
      spent: { toolCalls: 3 },
    });
  });

  test('tool calls of a turn, one a round', async () => {
    expect(
      await around(3, (needed) => ({
        policy: reads(needed),
        limits: { toolCalls: 3, rounds: 10 },
      })),
    ).toEqual(['replied', 'replied', 'max_tool_calls']);
  });

  test('tool calls of a turn, all in one round: the one too many keeps the others from running', async () => {
    const inOneRound = (count: number): PlayOptions => ({
      policy: (view) =>
        view.rounds.length > 0
          ? reply
          : calls(...Array.from({ length: count }, (_, index) => get(index + 1, `c${index}`))),
      limits: { toolCalls: 3, callsPerRound: 10 },
    });

    expect(await around(3, inOneRound)).toEqual(['replied', 'replied', 'max_tool_calls']);
  });

  test('failures of one kind, and failures of any kind, in a row', async () => {
    const failing = (needed: number, same: boolean): PlayOptions => ({
      shop: new Shop(),
      policy: (view) =>
        view.rounds.length < needed ? calls(get(same ? 404 : 404 + view.rounds.length)) : reply,
      limits: { rounds: 10, identicalFailures: 3, consecutiveFailures: 5 },
    });

    expect(await around(2, (needed) => failing(needed, true))).toEqual([
      'replied',
      'replied',
      'repeated_state',
    ]);
    expect(await around(4, (needed) => failing(needed, false))).toEqual([
      'replied',
      'replied',
      'consecutive_failures',
    ]);
  });

  test('model calls that fail in a row', async () => {
    const failing = (needed: number): PlayOptions => {
      let tries = 0;
      return {
        policy: () => {
          tries += 1;
          return tries <= needed ? { kind: 'fails', failure: { kind: 'server_error' } } : reply;
        },
        limits: { modelFailures: 3 },
      };
    };

    expect(await around(2, failing)).toEqual(['replied', 'replied', 'model_unavailable']);
  });

  test('finish candidates that are sent back', async () => {
    const rejecting = (needed: number): PlayOptions => ({
      policy: (view) => ({
        ...{ kind: 'finish_candidate', reply: 'Done.' },
        claims: view.rounds.length < needed ? [{ text: 'it is', evidence: ['9.9'] }] : [],
      }),
      limits: { rejectedFinishes: 2 },
    });

    expect(await around(2, rejecting)).toEqual(['replied', 'replied', 'finish_rejected']);
  });

  test('answers that cannot be read', async () => {
    const unreadable = (needed: number): PlayOptions => ({
      policy: (view) =>
        view.rounds.length < needed
          ? { kind: 'fails', failure: { kind: 'invalid_proposal' } }
          : reply,
      limits: { rejectedFinishes: 2 },
    });

    expect(await around(2, unreadable)).toEqual(['replied', 'replied', 'invalid_proposal']);
  });

  test('parks', async () => {
    const parking = (needed: number): PlayOptions => {
      let tries = 0;
      return {
        policy: () => {
          tries += 1;
          return tries <= needed ? { kind: 'fails', failure: { kind: 'server_error' } } : reply;
        },
        limits: { modelFailures: 10, parks: 2 },
      };
    };

    expect(await around(2, parking)).toEqual(['replied', 'replied', 'max_parks']);
  });
});

describe('[P8] [S4-27] [S4-56] the accounts as they are shipped', () => {
  test('have these numbers', () => {
    expect(DEFAULT_LIMITS).toEqual({
      ...{ rounds: 5, callsPerRound: 3, toolCalls: 15, tokens: 60_000, costMicros: 500_000 },
      ...{ deadlineMs: 600_000, modelTimeoutMs: 60_000, silenceMs: 20_000 },
      ...{ approvalMs: 86_400_000, parks: 10 },
      ...{ identicalFailures: 3, consecutiveFailures: 5, modelFailures: 5, rejectedFinishes: 2 },
    });
  });

  /** Reads orders, three a round, until it has asked for so many. */
  const threeARound =
    (count: number, firstId = 1) =>
    (view: View): ProposalInput => {
      const asked = view.rounds.length * 3;
      const left = Math.min(3, count - asked);
      return left <= 0
        ? reply
        : calls(
            ...Array.from({ length: left }, (_, index) =>
              get(firstId + asked + index, `c${index}`),
            ),
          );
    };
  const failingFirst = (count: number, kind: 'server_error' | 'invalid_proposal') => {
    let tries = 0;
    return (): ScriptedAnswer => {
      tries += 1;
      return tries <= count ? { kind: 'fails', failure: { kind } } : reply;
    };
  };
  const estimated = (estimate: { tokens: number; costMicros: number }): Model => ({
    estimate: () => estimate,
    ask: () =>
      Promise.resolve({
        ...{ ok: true, proposal: reply, model: 'm' },
        usage: { inputTokens: estimate.tokens, outputTokens: 0, costMicros: estimate.costMicros },
      }),
  });

  // What is allowed at most; one more ends the turn.
  test.each<[string, number, string, (needed: number) => PlayOptions]>([
    ['rounds', 5, 'max_rounds', (needed) => ({ policy: reads(needed - 1) })],
    [
      'tool calls',
      15,
      'max_tool_calls',
      (needed) => ({ policy: threeARound(needed), limits: { rounds: 9 } }),
    ],
    [
      'tokens',
      60_000,
      'token_budget',
      (tokens) => ({ model: estimated({ tokens, costMicros: 0 }) }),
    ],
    [
      'micro-dollars',
      500_000,
      'cost_budget',
      (costMicros) => ({ model: estimated({ tokens: 0, costMicros }) }),
    ],
    [
      'identical failures',
      2,
      'repeated_state',
      (needed) => ({
        shop: new Shop(),
        policy: (view) => (view.rounds.length < needed ? calls(get(404)) : reply),
      }),
    ],
    [
      'failures in a row',
      4,
      'consecutive_failures',
      (needed) => ({ shop: new Shop(), policy: threeARound(needed, 404) }),
    ],
    [
      'model calls that fail in a row',
      4,
      'model_unavailable',
      (needed) => ({ policy: failingFirst(needed, 'server_error') }),
    ],
    [
      'parks',
      10,
      'max_parks',
      (needed) => ({
        policy: failingFirst(needed, 'server_error'),
        limits: { modelFailures: 99 },
      }),
    ],
    [
      'answers that cannot be read',
      2,
      'invalid_proposal',
      (needed) => ({ policy: failingFirst(needed, 'invalid_proposal') }),
    ],
  ])('%s: %d are allowed', async (_account, limit, reason, options) => {
    expect(await around(limit, options)).toEqual(['replied', 'replied', reason]);
  });

  test('a call of a model has its minute, or what is left of the turn if that is less', async () => {
    const given: number[] = [];
    const timed = async (limits: Partial<Limits>) => {
      const model = estimated({ tokens: 1, costMicros: 1 });
      await play({
        limits,
        clock: { now: () => 1_000_000 },
        model: {
          ...model,
          ask(view, call) {
            given.push(call.timeoutMs);
            return model.ask(view, call);
          },
        },
      });
    };
    await timed({});
    await timed({ deadlineMs: 30_000 });

    expect(given[0]).toBeGreaterThan(59_000);
    expect(given[0]).toBeLessThanOrEqual(60_000);
    expect(given[1]).toBeGreaterThan(29_000);
    expect(given[1]).toBeLessThanOrEqual(30_000);
  });

  test('a call of a tool that names no time of its own has fifteen seconds, and so has its re-read', async () => {
    const shop = shopOf();
    const given: [string, number][] = [];
    const now = Date.now();
    const tools = shopTools(shop).map(({ timeoutMs: _own, ...tool }) => ({
      ...tool,
      run(...[args, context]: Parameters<typeof tool.run>) {
        given.push([tool.name, context.validUntil - now]);
        return tool.run(args, context);
      },
      ...(tool.verify && {
        verify: {
          ...tool.verify,
          read(...[args, context]: Parameters<typeof tool.verify.read>) {
            given.push([`re-read of ${tool.name}`, context.validUntil - now]);
            return tool.verify?.read(args, context) ?? Promise.reject(new Error());
          },
        },
      }),
    }));

    await play({
      ...{ shop, tools, clock: { now: () => now } },
      policy: (view) =>
        view.rounds.length === 0
          ? calls(get())
          : view.rounds.length === 1
            ? {
                kind: 'tool_calls',
                calls: [{ id: 'c1', tool: 'cancel_order', arguments: { orderId: '1' } }],
              }
            : reply,
    });

    expect(given).toEqual([
      ['get_order', 15_000],
      ['cancel_order', 15_000],
      ['re-read of cancel_order', 15_000],
    ]);
  });
});

describe('[S0-52] time', () => {
  /** A clock that a tool moves; the store has its own. */
  async function readFor(ms: number, limits: Partial<Limits>, personMs = 0) {
    const shop = shopOf();
    const clock = { ms: Date.now(), now: () => clock.ms };
    shop.onRead = () => {
      clock.ms += ms;
    };
    const refund = { id: 'c1', tool: 'issue_refund', arguments: { orderId: '1', amount: 2_000 } };
    return play({
      shop,
      clock,
      limits,
      approvalLimits: { EUR: personMs > 0 ? 0 : 5_000 },
      policy: (view) => {
        if (view.rounds.length === 0) return calls(get());
        return personMs > 0 && view.rounds.length === 1
          ? { kind: 'tool_calls', calls: [refund] }
          : reply;
      },
      people: async (approval, { store }) => {
        shop.onRead = () => {};
        clock.ms += personMs;
        await store.decideApproval(approval.id, 'approved', 'ana');
      },
    });
  }

  test('[P8] [S4-56] before the deadline the turn goes on, at the deadline it stops', async () => {
    const reasons: (string | null)[] = [];
    for (const ms of [99, 100, 101]) {
      reasons.push((await readFor(ms, { deadlineMs: 100 })).turn.reason);
    }
    for (const ms of [599_999, 600_000, 600_001]) reasons.push((await readFor(ms, {})).turn.reason);

    const around = ['replied', 'deadline', 'deadline'];
    expect(reasons).toEqual([...around, ...around]);
  });

  test('[P8] waiting for a person is no part of it', async () => {
    const { turn } = await readFor(10, { deadlineMs: 100 }, 5_000);

    expect(turn.reason).toBe('replied');
    expect(turn.state.personWaitMs).toBe(5_000);
  });

  test('[P8] an approval expires after its own time, counted from the moment it is asked for', async () => {
    const { rest, turn, records } = await play({
      shop: shopOf(),
      limits: { approvalMs: 12_345 },
      approvalLimits: { EUR: 0 },
      clock: { now: () => 1_000_000 },
      policy: (view) =>
        view.rounds.length === 0
          ? calls(get())
          : {
              kind: 'tool_calls',
              calls: [
                { id: 'c1', tool: 'issue_refund', arguments: { orderId: '1', amount: 2_000 } },
              ],
            },
    });

    expect(rest).toMatchObject({ park: { kind: 'approval', dueAt: 1_012_345 } });
    expect(turn.phase).toBe('awaiting_approval');
    expect(await records.pendingApprovals()).toMatchObject([
      { requestedAt: 1_000_000, expiresAt: 1_012_345 },
    ]);
  });

  test('[S0-53] [S4-31] a call is cut when it has been silent for its limit, not before; a sign of life starts it anew', async () => {
    vi.useFakeTimers();
    try {
      const heard: (() => void)[] = [];
      const told: unknown[] = [];
      const ended = vi.fn<(end: unknown) => void>();
      const call = within({ timeoutMs: 10_000, silenceMs: 100 }, ({ signal, heartbeat }) => {
        heard.push(heartbeat);
        signal.addEventListener('abort', () => told.push(signal.reason));
        return new Promise((_, reject) => {
          signal.addEventListener('abort', () => reject(new Error('aborted')));
        });
      }).then(ended);

      await vi.advanceTimersByTimeAsync(99);
      expect(told).toEqual([]);
      heard[0]?.();
      await vi.advanceTimersByTimeAsync(99);
      expect(told).toEqual([]);
      await vi.advanceTimersByTimeAsync(1);
      await call;
      expect(ended).toHaveBeenCalledWith({ kind: 'cut', by: 'silence', abandoned: false });
    } finally {
      vi.useRealTimers();
    }
  });

  test('[S0-53] a call that makes noise for ever is cut at its time, and left behind when it ignores that', async () => {
    vi.useFakeTimers();
    try {
      const ended = vi.fn<(end: unknown) => void>();
      void within({ timeoutMs: 1_000, silenceMs: 100 }, ({ heartbeat }) => {
        setInterval(heartbeat, 50);
        return new Promise(() => {});
      }).then(ended);

      await vi.advanceTimersByTimeAsync(999);
      await vi.advanceTimersByTimeAsync(1);
      await vi.advanceTimersByTimeAsync(999);
      expect(ended).not.toHaveBeenCalled();
      await vi.advanceTimersByTimeAsync(1);
      expect(ended).toHaveBeenCalledWith({ kind: 'cut', by: 'timeout', abandoned: true });
    } finally {
      vi.clearAllTimers();
      vi.useRealTimers();
    }
  });
});

describe('[P8] [S0-54] [S4-56] [S4-57] tokens and money', () => {
  /** A model whose calls are estimated and paid as they are told. */
  function priced(
    estimate: { tokens: number; costMicros: number },
    usage: Usage = {
      inputTokens: estimate.tokens,
      outputTokens: 0,
      costMicros: estimate.costMicros,
    },
  ) {
    let asked = 0;
    const model: Model = {
      estimate: () => estimate,
      ask(view): Promise<ModelAnswer> {
        asked += 1;
        return Promise.resolve({ ok: true, proposal: reads(9)(view), usage, model: 'priced' });
      },
    };
    return { model, asked: () => asked };
  }

  test.each([
    ['tokens', { tokens: 10, costMicros: 0 }, 'token_budget'],
    ['costMicros', { tokens: 0, costMicros: 10 }, 'cost_budget'],
  ] as const)(
    '%s: a call that fits exactly is made, the next one is not',
    async (name, estimate, reason) => {
      for (const [limit, made] of [
        [29, 2],
        [30, 3],
        [31, 3],
        [39, 3],
        [40, 4],
      ] as const) {
        const { model, asked } = priced(estimate);
        const { turn } = await play({
          shop: shopOf(),
          model,
          limits: { rounds: 20, toolCalls: 50, [name]: limit },
        });
        expect([limit, asked(), turn.reason, turn.state.spent[name]]).toEqual([
          limit,
          made,
          reason,
          made * 10,
        ]);
      }
    },
  );

  test('[S0-54] an answer that was dearer than its estimate is the last one', async () => {
    const { model, asked } = priced(
      { tokens: 10, costMicros: 1 },
      { inputTokens: 95, outputTokens: 5, costMicros: 1 },
    );

    const { turn } = await play({ shop: shopOf(), model, limits: { tokens: 100 } });

    expect(asked()).toBe(1);
    expect(turn).toMatchObject({ reason: 'token_budget', state: { spent: { tokens: 100 } } });
  });

  test('[S2-35] [S4-28] [S4-30] [S4-58] an exhausted turn says what it spent, what is done and what is safe, in record and note alike', async () => {
    const { model } = priced({ tokens: 10, costMicros: 0 });
    const shop = shopOf();
    const { turn, said } = await play({
      shop,
      model: {
        ...model,
        ask: (view) =>
          Promise.resolve({
            ok: true,
            proposal:
              view.rounds.length === 0
                ? calls(get())
                : {
                    kind: 'tool_calls',
                    calls: [{ id: 'c1', tool: 'cancel_order', arguments: { orderId: '1' } }],
                  },
            usage: { inputTokens: 10, outputTokens: 0, costMicros: 0 },
            model: 'priced',
          }),
      },
      limits: { tokens: 20 },
    });
    const [note = ''] = said('note');

    expect(turn).toMatchObject({ outcome: 'budget_exhausted', reason: 'token_budget' });
    expect(said('reply')).toEqual([]);
    expect(note).toContain('Turnkeeper stopped: budget_exhausted (token_budget).');
    expect(note).toContain('Done: cancel_order order:1 verified.');
    expect(note).toContain('Next: it is safe to act or to reprocess');
    expect(note).toContain(
      'Used: 2 of 5 rounds, 2 of 15 tool calls, 20 of 20 tokens, 0 of 500000 micro-dollars.',
    );
  });

  test('[S4-29] a completed turn keeps what it spent and its reply on record', async () => {
    const { turn } = await play({ shop: shopOf(), policy: reads(1) });

    expect(turn).toMatchObject({ outcome: 'completed', reason: 'replied' });
    expect(turn.state.spent.toolCalls).toBe(1);
    expect(turn.state.spent.tokens).toBeGreaterThan(0);
    expect(turn.state.rounds.at(-1)?.proposal).toMatchObject({ reply: 'Done.' });
  });

  /** A refund whose judge never makes up its mind; costs 8 a question. */
  async function judged(options: PlayOptions) {
    const [get1, cancel, refund] = shopTools(shopOf());
    if (get1 === undefined || cancel === undefined || refund?.verify === undefined)
      throw new Error();
    const verify = { ...refund.verify, level: 'judge' as const, criterion: 'Paid?', attempts: 4 };
    let asked = 0;
    const verifier = scriptedJudge(
      () => {
        asked += 1;
        return 'unknown';
      },
      { costMicros: 8 },
    );
    const { turn } = await play({
      verifier,
      tools: [get1, cancel, { ...refund, verify }],
      policy: (view) =>
        view.rounds.length === 0
          ? calls(get())
          : {
              kind: 'tool_calls',
              calls: [{ id: 'c1', tool: 'issue_refund', arguments: { orderId: '1', amount: 10 } }],
            },
      ...options,
    });
    return { asked, reason: turn.reason, costMicros: turn.state.spent.costMicros };
  }

  test.each<[string, (costMicros: number) => PlayOptions]>([
    ['the turn', (costMicros) => ({ limits: { costMicros } })],
    ['its conversation', (costMicros) => ({ caps: { conversation: { costMicros } } })],
    ["its conversation's day", (costMicros) => ({ caps: { day: { costMicros } } })],
  ])(
    'a judge never costs more than %s has left, at once or while the turn waits, however often it is asked',
    async (_what, options) => {
      for (const [limit, asked] of [
        [7, 0],
        [8, 1],
        [15, 1],
        [16, 2],
        [17, 2],
      ] as const) {
        expect([limit, await judged(options(limit))]).toEqual([
          limit,
          { asked, reason: 'verification_failed', costMicros: 8 * asked },
        ]);
      }
    },
  );
});

describe('[P8] caps of a conversation', () => {
  const usage = { inputTokens: 10, outputTokens: 0, costMicros: 10 };
  const model: Model = {
    estimate: () => ({ tokens: 10, costMicros: 10 }),
    ask: () => Promise.resolve({ ok: true, proposal: reply, usage, model: 'priced' }),
  };

  describe.each(['conversation', 'day'] as const)('of the %s', (scope) => {
    // Each turn uses ten; each of four messages gets its answer until the next one would not fit.
    test.each([
      ['tokens', 'token_budget', [19, 20, 21, 29, 30, 31], [1, 2, 2, 2, 3, 3]],
      ['costMicros', 'cost_budget', [19, 20, 21, 29, 30, 31], [1, 2, 2, 2, 3, 3]],
      ['replies', 'max_replies', [0, 1, 2, 3], [0, 1, 2, 3]],
    ] as const)(
      '%s: the message beyond them is not thought about and goes to people',
      async (name, reason, limits, answers) => {
        for (const [index, limit] of limits.entries()) {
          const conversation = await converse({ model, caps: { [scope]: { [name]: limit } } });
          const reasons: (string | null)[] = [];
          for (let left = answers[index] ?? 0; left >= 0; left -= 1) {
            await conversation.say('hello');
            reasons.push((await conversation.turn()).reason);
          }

          const replied = Array.from({ length: answers[index] ?? 0 }, () => 'replied');
          expect([limit, reasons]).toEqual([limit, [...replied, reason]]);
          expect(conversation.views).toHaveLength(replied.length);
          expect(conversation.said('reply')).toHaveLength(replied.length);
          expect(conversation.said('handover')).toHaveLength(1);
        }
      },
    );
  });

  test('the caps of a day are new on the next one, those of the conversation are not', async () => {
    const clock = { ms: Date.parse('2026-12-01T12:00:00Z'), now: () => clock.ms };
    const daily = await converse({ model, clock, caps: { day: { replies: 1 } } });
    const forever = await converse({ model, clock, caps: { conversation: { replies: 1 } } });
    await daily.say('one');
    await forever.say('one');
    clock.ms += 86_400_000;
    await daily.say('two');
    await forever.say('two');

    expect((await daily.turn()).reason).toBe('replied');
    expect((await forever.turn()).reason).toBe('max_replies');
  });

  test('by default a conversation gets thirty replies a day', async () => {
    const conversation = await converse({ model });
    for (let number = 1; number <= 31; number += 1) await conversation.say(String(number));

    expect(conversation.said('reply')).toHaveLength(30);
    expect((await conversation.turn()).reason).toBe('max_replies');
  });
});

describe('[S4-52] accounts of a source', () => {
  test('replace those of the agent for its turns, and no others', async () => {
    const options = (source: string): PlayOptions => ({
      shop: shopOf(),
      policy: reads(3),
      sourceLimits: { [source]: { rounds: 2 } },
    });

    expect((await play(options('test'))).turn.reason).toBe('max_rounds');
    expect((await play(options('other'))).turn.reason).toBe('replied');
  });
});
