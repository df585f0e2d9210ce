import { describe, expect, test } from 'vitest';
import type { Claim, EffectStatus, Facts, ProposalInput } from '../../src/contracts/index.ts';
import { DEFAULT_LIMITS, proposalSchema } from '../../src/contracts/index.ts';
import { judgeFinish } from '../../src/loop/finish.ts';
import {
  initialState,
  type AgentRules,
  type CallState,
  type Finish,
  type TurnState,
} from '../../src/loop/index.ts';
import type { Skill } from '../../src/skills/index.ts';
import { cancelThenRefund } from '../support/cancel-then-refund.ts';
import { Shop, shopTools } from '../support/shop.ts';
import { answered, observed } from './contract.ts';
import { play, type PlayOptions } from './play.ts';

type Candidate = { reply?: string; claims?: Claim[]; as?: Finish['as'] };

function candidate(calls: readonly CallState[], proposal: Candidate = {}, skills: string[] = []) {
  const finish = {
    kind: 'finish_candidate',
    reply: 'Done.',
    claims: [],
    as: 'replied',
    ...proposal,
  };
  const state: TurnState = {
    ...initialState(DEFAULT_LIMITS),
    rounds: [
      { proposal: null, calls },
      { proposal: proposalSchema.parse(finish), calls: [] },
    ],
    skills: skills.map((name) => ({ name, version: 'v1' })),
  };
  return state;
}

const rules = (more: Partial<AgentRules> = {}) => ({ successOf: {}, ...more }) as AgentRules;
const objection = (
  calls: readonly CallState[],
  proposal: Candidate = {},
  more: Partial<AgentRules> = {},
  facts: Facts = {},
  skills: string[] = [],
) => judgeFinish(candidate(calls, proposal, skills), facts, rules(more));

const claim = (text: string, ...evidence: string[]): Candidate => ({
  claims: [{ text, evidence }],
});
const refund = (status: EffectStatus | 'planned'): CallState => ({
  ...answered('issue_refund', { status: 'accepted' }),
  effect: {
    ...{ operation: 'xop', resource: 'order:1/refund', occurrence: '', answered: true },
    ...{ status, reads: [] },
  },
});

describe('[S2-07] [S2-14] an effect stands between a turn and its end until it is certain', () => {
  test.each<[EffectStatus | 'planned', boolean]>([
    ['attempted', false],
    ['applied', false],
    ['unknown', false],
    ['planned', true],
    ['rejected', true],
    ['verified', true],
    ['not_landed', true],
  ])('one that is %s: may finish = %s', (status, allowed) => {
    expect(objection([refund(status)])).toBe(
      allowed ? undefined : 'issue_refund (1.1) is not verified yet',
    );
  });

  test('a state without a candidate has nothing to judge', () => {
    const state = initialState(DEFAULT_LIMITS);

    expect(judgeFinish(state, {}, rules())).toBe('there is no finish candidate');
    expect(judgeFinish({ ...state, rounds: [{ proposal: null, calls: [] }] }, {}, rules())).toBe(
      'there is no finish candidate',
    );
  });
});

describe('[S2-43] claims are held against what was observed', () => {
  const order = answered('get_order', { id: '4482', total: 74_000, status: 'paid' });

  test('evidence that does not exist in this turn is no evidence', () => {
    expect(objection([order], claim('It is paid.', '1.1'))).toBeUndefined();
    expect(objection([order], claim('It is paid.', '9.9'))).toBe(
      'the evidence 9.9 does not exist in this turn',
    );
    expect(objection([order], claim('It is paid.', '1.1', '9.9'))).toContain('9.9');
  });

  test('a call that was not answered is no evidence', () => {
    const refused: CallState = {
      ...order,
      result: { kind: 'refused', code: 'x', message: 'order 4482' },
    };

    expect(objection([refused], claim('Order 4482', '1.1'))).toBe(
      'the evidence 1.1 does not exist in this turn',
    );
    const open: CallState = { id: '1.1', tool: 'get_order', arguments: {}, step: 'proposed' };
    expect(objection([open], claim('x', '1.1'))).toContain('does not exist');
  });

  test('a number that does not stand in the evidence is refused, with the words of the claim', () => {
    expect(objection([order], claim('Order 4482 is paid.', '1.1'))).toBeUndefined();
    expect(objection([order], claim('Order 4483 is paid.', '1.1'))).toBe(
      '"Order 4483 is paid.": 4483 does not stand in 1.1',
    );
    expect(objection([order], claim('4482 and 4483', '1.1'))).toContain('4483');
  });

  test('an amount may be stated in main units of what is recorded in minor ones', () => {
    expect(objection([order], claim('740.00 EUR', '1.1'))).toBeUndefined();
    expect(objection([order], claim('740 EUR', '1.1'))).toBeUndefined();
    expect(objection([order], claim('74,000 cents', '1.1'))).toBeUndefined();
    expect(objection([order], claim('740,00 EUR', '1.1'))).toBeUndefined();
    expect(objection([order], claim('740.01 EUR', '1.1'))).toContain('740.01');
    expect(objection([order], claim('7.40 EUR', '1.1'))).toContain('7.40');
    expect(objection([order], claim('74 EUR', '1.1'))).toContain('74');
  });

  test('of several calls, any may hold the number; what a re-read found counts too', () => {
    const second = answered('get_order', { total: 99 }, { id: '1.2' });
    const call = refund('verified');
    const verified: CallState = {
      ...call,
      id: '1.3',
      ...(call.effect && {
        effect: {
          ...call.effect,
          reads: [
            { verdict: 'unknown', at: 1, latencyMs: 1 },
            { verdict: 'landed', at: 1, latencyMs: 1, observation: observed({ paid: 555 }) },
          ],
        },
      }),
    };

    expect(objection([order, second], claim('4482 costs 99', '1.1', '1.2'))).toBeUndefined();
    expect(objection([order, second], claim('4482 costs 99', '1.2'))).toContain('4482');
    expect(objection([verified], claim('555 were paid', '1.3'))).toBeUndefined();
  });

  test('a claim that cites nothing is sent back; one that rests on a document is looked up there', () => {
    expect(objection([order], claim('It is paid.'))).toBe(
      '"It is paid." cites nothing: name the observation it rests on, or leave the claim out',
    );
    const range = 'doc:returns@0a1b2c#10-20';
    expect(objection([order], claim('Within 30 days.', range))).toBeUndefined();
    expect(objection([order], claim('Within 30 days.', range, '1.1'))).toBeUndefined();
    expect(objection([order], claim('Within 30 days.', range, '9.9'))).toContain('9.9');
    expect(objection([order], claim('Within 30 days.', '1.1'))).toContain('30');
  });

  test('what cannot be read as a number agrees only with itself', () => {
    const odd = answered('get_order', { version: '1.2.3' });

    expect(objection([odd], claim('version 1.2.3', '1.1'))).toBeUndefined();
    expect(objection([odd], claim('version 1.2.4', '1.1'))).toContain('1.2.4');
  });

  test('the first unsettled effect and the first wrong number are named', () => {
    const second = { ...refund('unknown'), id: '1.2' };

    expect(objection([refund('applied'), second])).toContain('(1.1)');
    expect(objection([order], claim('7001 and 7002', '1.1'))).toContain(': 7001 does');
  });

  test('every claim is looked at', () => {
    const claims = [
      { text: 'Order 4482', evidence: ['1.1'] },
      { text: 'Order 1', evidence: ['1.1'] },
    ];

    expect(objection([order], { claims })).toContain('"Order 1"');
  });
});

describe('conditions of skills and of the agent', () => {
  const facts: Facts = { 'order:1': { data: 1, at: 1, from: 'x' } };

  test('the success condition of a skill that was loaded must hold, by its name; another one does not matter', () => {
    const successOf = {
      loaded: ({ reply }: Finish) => (reply === 'Done.' ? 'say more' : undefined),
      other: () => 'never asked',
    };

    expect(objection([], {}, { successOf }, {}, ['loaded'])).toBe('loaded: say more');
    expect(objection([], { reply: 'More.' }, { successOf }, {}, ['loaded'])).toBeUndefined();
    expect(objection([], {}, { successOf })).toBeUndefined();
    expect(objection([], {}, { successOf: {} }, {}, ['loaded'])).toBeUndefined();
  });

  test("they see the reply, its claims, the facts and every call; the agent's own is asked last", () => {
    const seen: Finish[] = [];
    const judge = (finish: Finish) => {
      seen.push(finish);
      return 'no';
    };
    const calls = [answered('get_order', {})];

    expect(objection(calls, { reply: 'R', as: 'no_answer' }, { judge }, facts)).toBe('no');
    expect(seen).toEqual([{ reply: 'R', as: 'no_answer', claims: [], facts, calls }]);
    expect(objection([], {}, { judge, successOf: { s: () => 'first' } }, facts, ['s'])).toBe(
      's: first',
    );
    expect(seen).toHaveLength(1);
  });
});

describe('a finish in a turn', () => {
  const refund1: Skill = {
    ...{ name: 'refund', description: 'Refunds.', procedure: '1. Cancel.', version: 'abc123' },
    success: ({ calls }) =>
      calls.some(({ effect }) => effect?.status === 'verified')
        ? undefined
        : 'nothing was refunded',
  };
  const load: ProposalInput = {
    kind: 'tool_calls',
    calls: [{ id: 'c1', tool: 'load_skill', arguments: { name: 'refund' } }],
  };
  const done: ProposalInput = { kind: 'finish_candidate', reply: 'It is refunded!' };

  test('[S2-07] [S4-54] goes back twice with the reason and is then handed over; its text never goes out', async () => {
    const { turn, views, said } = await play({
      skills: [refund1],
      policy: (view) => (view.rounds.length === 0 ? load : done),
    });

    expect(turn).toMatchObject({ outcome: 'escalated', reason: 'finish_rejected' });
    expect(views.map(({ rounds }) => rounds.at(-1)?.objection)).toEqual([
      undefined,
      undefined,
      'refund: nothing was refunded',
      'refund: nothing was refunded',
    ]);
    expect(views[2]?.openQuestions).toEqual(['refund: nothing was refunded']);
    expect(said('reply')).toEqual([]);
  });

  describe.each([
    ['a question', { kind: 'ask_customer', text: 'Order 1 is cancelled. Anything else?' }],
    ['a refusal', { kind: 'refuse', reply: 'Order 1 is cancelled, so I cannot help.' }],
  ] satisfies [string, ProposalInput][])('[S2-14] [S2-43] [S4-54] what %s says', (_what, said1) => {
    const judge: PlayOptions['judge'] = ({ reply, as, facts, calls, claims }) =>
      /is cancelled/.test(reply) && claims.length === 0
        ? `order 1 is not cancelled (${as}, ${Object.keys(facts).join()}, ${calls.length})`
        : undefined;

    test('goes back like a reply that is not true, and never goes out', async () => {
      const { turn, views, said } = await play({
        judge,
        policy: (view) =>
          view.rounds.length === 0
            ? {
                kind: 'tool_calls',
                calls: [{ id: 'c1', tool: 'get_order', arguments: { orderId: '1' } }],
              }
            : said1,
      });

      const as = said1.kind === 'refuse' ? 'declined' : 'asked_customer';
      expect(turn).toMatchObject({ outcome: 'escalated', reason: 'finish_rejected' });
      expect(views.at(-1)?.openQuestions).toEqual([`order 1 is not cancelled (${as}, order:1, 1)`]);
      expect(views).toHaveLength(4);
      expect(said('reply')).toEqual([]);
    });

    test('goes out where the agent has nothing against it, whatever the skill still wants', async () => {
      const { turn, said } = await play({
        skills: [refund1],
        judge: () => undefined,
        policy: (view) => (view.rounds.length === 0 ? load : said1),
      });

      expect(turn.outcome).toBe('completed');
      expect(said('reply')).toHaveLength(1);
    });

    test('may be put right in the next round', async () => {
      const { turn, said } = await play({
        judge,
        policy: (view) =>
          view.rounds.length === 0 ? said1 : { kind: 'ask_customer', text: 'Shall I cancel it?' },
      });

      expect(turn.reason).toBe('asked_customer');
      expect(said('reply')).toEqual(['Shall I cancel it?']);
    });
  });

  test('[S0-29] the version of the procedure that was followed is on record; its limits hold from then on', async () => {
    const { turn } = await play({
      skills: [{ ...refund1, limits: { rounds: 2 } }],
      policy: (view) => (view.rounds.length === 0 ? load : done),
    });

    expect(turn.state.skills).toEqual([{ name: 'refund', version: 'abc123' }]);
    expect(turn.state.limits.rounds).toBe(2);
    expect(turn.state.limits.toolCalls).toBe(DEFAULT_LIMITS.toolCalls);
    expect(turn.reason).toBe('max_rounds');
  });

  test('a skill that does not exist is refused and leaves nothing behind', async () => {
    const { turn } = await play({
      skills: [refund1],
      policy: (view) =>
        view.rounds.length > 0
          ? done
          : {
              kind: 'tool_calls',
              calls: [{ id: 'c1', tool: 'load_skill', arguments: { name: 'magic' } }],
            },
    });

    expect(turn.state.skills).toEqual([]);
    expect(turn.reason).toBe('replied');
  });

  test('with its conditions met it goes out', async () => {
    const { turn, said } = await play({
      skills: [refund1],
      policy: (view) => {
        if (view.rounds.length === 0) return load;
        return cancelThenRefund({ ...view, rounds: view.rounds.slice(1) });
      },
    });

    expect(turn.reason).toBe('replied');
    expect(said('reply')).toEqual(['Cancelled and refunded.']);
  });

  test('[S3-29] [S4-08] two calls with one id are no proposal: nothing of it is run', async () => {
    const { turn, shop } = await play({
      policy: (view) =>
        view.rounds.length > 0
          ? done
          : {
              kind: 'tool_calls',
              calls: [
                { id: 'c1', tool: 'get_order', arguments: { orderId: '1' } },
                { id: 'c1', tool: 'cancel_order', arguments: { orderId: '1' } },
              ],
            },
    });

    expect(shop.calls).toEqual([]);
    expect(turn.events.find(({ type }) => type === 'model_failed')).toMatchObject({
      failure: { kind: 'invalid_proposal', detail: 'two calls have the same id' },
    });
    expect(turn.reason).toBe('replied');
  });

  test.each([
    ['two proposals at once', { kind: 'tool_calls', calls: [], reply: 'x' }],
    ['an unknown kind', { kind: 'run_shell', command: 'rm -rf /' }],
    ['plain text', 'I will refund you now.'],
    ['nothing', null],
    [
      'too many calls',
      {
        kind: 'tool_calls',
        calls: Array.from({ length: 33 }, (_, id) => ({ id: String(id), tool: 't' })),
      },
    ],
    ['no calls', { kind: 'tool_calls', calls: [] }],
  ])(
    '[S2-20] [S4-23] %s is a class of failure of its own and never acted on',
    async (_name, odd) => {
      const usage = { inputTokens: 1, outputTokens: 1, costMicros: 1 };
      const { turn, shop } = await play({
        model: {
          estimate: () => ({ tokens: 1, costMicros: 1 }),
          ask: () => Promise.resolve({ ok: true, proposal: odd as never, usage, model: 'm' }),
        },
      });

      expect(shop.calls).toEqual([]);
      expect(turn).toMatchObject({ outcome: 'failed', reason: 'invalid_proposal' });
      // What was answered was paid.
      expect(turn.state.spent).toMatchObject({ tokens: 6, costMicros: 3, toolCalls: 0 });
    },
  );

  test('[S0-34] [S4-46] what the model was told about its effects stays: a reply after an unverified one is impossible', async () => {
    const shop = new Shop();
    shop.add({ id: '1' });
    shop.faults['cancel'] = ['ack_only'];

    const { turn, said } = await play({
      shop,
      tools: shopTools(shop),
      policy: cancelThenRefund,
    });

    expect(turn.reason).toBe('verification_failed');
    expect(said('reply')).toEqual([]);
  });
});
