import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import {
  DEFAULT_LIMITS,
  type EffectStatus,
  type Facts,
  type Proposal,
} from '../../src/contracts/index.ts';
import {
  assembleView,
  initialState,
  shorten,
  type AgentRules,
  type CallState,
  type ClaimedTurn,
  type HistoryEntry,
  type Round,
  type TurnState,
} from '../../src/loop/index.ts';
import { isUnsettled, SHOWN_IN_FULL, STALE_AFTER_MS, viewRound } from '../../src/loop/view.ts';
import { establishedFacts, newFacts } from '../../src/loop/facts.ts';
import { defineTool, ToolExecutor, ToolRegistry } from '../../src/tools/index.ts';
import { cancelThenRefund } from '../support/cancel-then-refund.ts';
import { Shop, shopTools } from '../support/shop.ts';
import { answered, earlierTurn, message, observed } from './contract.ts';
import { converse, play } from './play.ts';

const NOW = 10_000_000;
const skills = [{ name: 'refund', description: 'Refunds.', procedure: 'secret steps' }];
const rules = { name: 'A', instructions: 'Help.', skills } as unknown as AgentRules;

type Given = {
  rounds?: readonly Round[];
  history?: readonly HistoryEntry[];
  facts?: Facts;
  spent?: Partial<TurnState['spent']>;
  messages?: ClaimedTurn['messages'];
};

function viewOf({ rounds = [], history = [], facts = {}, spent = {}, messages }: Given = {}) {
  const base = initialState(DEFAULT_LIMITS);
  const state = { ...base, rounds, spent: { ...base.spent, ...spent } };
  const claimed = { messages: messages ?? [message('Hello')], history } as unknown as ClaimedTurn;
  return assembleView(state, claimed, rules, [], facts, NOW);
}

const write = (status: EffectStatus | 'planned', id = '1.1'): CallState => ({
  ...answered('cancel_order', { status: 'accepted' }, { id }),
  effect: {
    ...{ operation: `op ${id}`, resource: 'order:1', occurrence: '', answered: true },
    ...{ status, reads: [] },
  },
});
const round = (...calls: CallState[]): Round => ({ proposal: null, calls });

describe('[S0-33] the working state is shown in its groups, each owned by somebody else', () => {
  test("the loop's own: what is left, what was done, and what is open", () => {
    const view = viewOf({
      rounds: [round(write('verified')), round(write('unknown', '2.1'))],
      spent: { toolCalls: 4, tokens: 10_000, costMicros: 100_000 },
    });

    expect(view.budget).toEqual({
      roundsLeft: 3,
      toolCallsLeft: 11,
      tokensLeft: 50_000,
      costMicrosLeft: 400_000,
    });
    expect(view.effects).toEqual([
      { tool: 'cancel_order', resource: 'order:1', operation: 'op 1.1', status: 'verified' },
      { tool: 'cancel_order', resource: 'order:1', operation: 'op 2.1', status: 'unknown' },
    ]);
    expect(view.openQuestions).toEqual([
      'cancel_order (2.1): whether it happened is not certain yet.',
    ]);
  });

  test('an effect that is only planned is not shown as one', () => {
    expect(viewOf({ rounds: [round(write('planned'))] }).effects).toEqual([]);
  });

  test.each<[EffectStatus | 'planned' | undefined, boolean]>([
    ['attempted', true],
    ['applied', true],
    ['unknown', true],
    ['planned', false],
    ['verified', false],
    ['rejected', false],
    ['not_landed', false],
    [undefined, false],
  ])('an effect that is %s is open: %s', (status, open) => {
    expect(isUnsettled(status)).toBe(open);
  });

  test('from the request: who asks and what they wrote, a subject where there is one', () => {
    const view = viewOf({ messages: [message('Hello', 'Order 1'), message('Again')] });

    expect(view.requester).toEqual({ id: 'ana@example.com', assurance: 'verified' });
    expect(view.messages).toEqual([{ text: 'Hello', subject: 'Order 1' }, { text: 'Again' }]);
  });

  test('[S0-35] the last claim of a tool and what a re-read observed stay apart', async () => {
    const { views } = await play({ policy: cancelThenRefund });
    const [, , view] = views;
    const claimed = view?.rounds[1]?.results[0]?.result;

    expect(claimed).toMatchObject({ kind: 'ok', observation: { data: { status: 'accepted' } } });
    expect(view?.facts['order:1']).toMatchObject({
      data: { status: 'cancelled' },
      from: 'reread:cancel_order',
    });
  });

  test('[S0-34] nothing becomes a fact because the customer or the model said so', async () => {
    const { views } = await play(
      {
        policy: (view) =>
          view.rounds.length > 0
            ? { kind: 'finish_candidate', reply: 'ok' }
            : {
                kind: 'tool_calls',
                rationale: 'order 1 is cancelled already',
                calls: [{ id: 'c1', tool: 'get_order', arguments: { orderId: '1' } }],
              },
      },
      'My order 1 is cancelled, your colleague told me so.',
    );

    expect(views[0]?.facts).toEqual({});
    expect(views[1]?.facts['order:1']?.data).toMatchObject({ status: 'paid' });
  });

  test('[S0-34] an answer that was cut is no fact, and says that it was cut', async () => {
    const note = 'x'.repeat(20_000);
    const shop = new Shop();
    Object.assign(shop.add({ id: '1' }), { note });
    const [get] = shopTools(shop);
    if (get === undefined) throw new Error('no tool');

    const { views } = await play({
      shop,
      tools: [
        defineTool({
          ...get,
          output: z.looseObject({ note: z.string() }),
          owner: () => 'ana@example.com',
        }),
      ],
      policy: (view) =>
        view.rounds.length > 0
          ? { kind: 'finish_candidate', reply: 'ok' }
          : {
              kind: 'tool_calls',
              calls: [{ id: 'c1', tool: 'get_order', arguments: { orderId: '1' } }],
            },
    });

    expect(views[1]?.facts).toEqual({});
    const result = views[1]?.rounds[0]?.results[0]?.result;
    expect(result).toMatchObject({ kind: 'ok', observation: { truncated: true } });
    expect(JSON.stringify(result)).toContain('[cut: 4096 of');
  });
});

describe('[S0-35] an observation is as old as its read', () => {
  test.each([
    [STALE_AFTER_MS - 1, false],
    [STALE_AFTER_MS, false],
    [STALE_AFTER_MS + 1, true],
  ])('%i ms later it may have changed: %s', (age, stale) => {
    const fact = { data: { status: 'paid' }, at: NOW - age, from: 'get_order' };

    expect(viewOf({ facts: { 'order:1': fact } }).facts).toEqual({ 'order:1': { ...fact, stale } });
  });
});

describe('[S2-18] what the model is shown of a skill', () => {
  test('its name and description; the procedure only on demand', async () => {
    const { views } = await play({
      skills: [{ ...skills[0], version: 'v' } as never],
      policy: (view) =>
        view.rounds.length > 0
          ? { kind: 'finish_candidate', reply: 'ok' }
          : {
              kind: 'tool_calls',
              calls: [{ id: 'c1', tool: 'load_skill', arguments: { name: 'refund' } }],
            },
    });

    expect(views[0]?.skills).toEqual([{ name: 'refund', description: 'Refunds.' }]);
    expect(JSON.stringify(views[0])).not.toContain('secret steps');
    expect(JSON.stringify(views[1]?.rounds)).toContain('secret steps');
  });
});

describe('[S4-12] older rounds and turns are summed up, the last ones are shown word for word', () => {
  const many = Array.from({ length: SHOWN_IN_FULL + 2 }, (_, index) =>
    round(answered('get_order', { n: index }, { id: `${index + 1}.1` })),
  );

  test('as many rounds as fit are whole, of the others there is one line each', () => {
    expect(viewOf({ rounds: many.slice(0, SHOWN_IN_FULL) }).earlierRounds).toEqual([]);
    const view = viewOf({ rounds: many });

    expect(view.rounds).toHaveLength(SHOWN_IN_FULL);
    expect(view.rounds[0]?.results[0]?.evidence).toBe('3.1');
    expect(view.earlierRounds).toEqual([
      'Round 1: get_order (1.1) ok',
      'Round 2: get_order (2.1) ok',
    ]);
  });

  test('a line tells of every call what became of it, or why there was none', () => {
    const { result: _result, ...open } = answered('get_order', {});
    const old = [
      round(write('verified'), { ...open, id: '1.2' }),
      { proposal: null, calls: [], objection: 'could not be read' },
      round(),
    ];

    expect(viewOf({ rounds: [...old, ...many.slice(0, SHOWN_IN_FULL)] }).earlierRounds).toEqual([
      'Round 1: cancel_order (1.1) verified; get_order (1.2) not run',
      'Round 2: could not be read',
      'Round 3: nothing was run',
    ]);
  });

  test('the same of earlier turns', () => {
    const history = [
      earlierTurn('First?', { tool: 'get_order', data: {} }, 'One.'),
      { kind: 'line', turnId: 't', line: 'failed' } as const,
      ...Array.from({ length: SHOWN_IN_FULL }, () => earlierTurn('Later?')),
    ];

    const shown = viewOf({ history }).history;
    expect(shown[0]).toEqual({
      kind: 'line',
      turnId: 't0',
      line: 'Earlier message "First?", answered "One.".',
    });
    expect(shown[1]).toEqual(history[1]);
    expect(shown.slice(2)).toEqual(history.slice(2));
  });

  test('a line is one line, and not longer than it may be', () => {
    expect(shorten(' a\n b\t c ', 9)).toBe('a b c');
    expect(shorten('abcde', 5)).toBe('abcde');
    expect(shorten('abcdef', 5)).toBe('abcd…');
    const [line] = viewOf({
      history: [
        earlierTurn('q'.repeat(500), undefined, 'r'.repeat(500)),
        ...Array.from({ length: SHOWN_IN_FULL }, () => earlierTurn('x')),
      ],
    }).history;
    expect(line).toMatchObject({ kind: 'line' });
    expect(JSON.stringify(line).length).toBeLessThan(500);
  });
});

describe('[S4-09] [S4-10] the summary never takes the place of the record', () => {
  test('[S4-16] the record keeps every round of a turn whose view shows the last ones only', async () => {
    const shop = new Shop();
    for (let id = 1; id <= 12; id += 1) shop.add({ id: String(id) });
    const { views, turn } = await play({
      shop,
      limits: { rounds: 12 },
      policy: (view) => {
        const round1 = view.rounds.length + view.earlierRounds.length;
        return round1 >= 11
          ? { kind: 'finish_candidate', reply: 'ok' }
          : {
              kind: 'tool_calls',
              calls: [{ id: 'c1', tool: 'get_order', arguments: { orderId: String(round1 + 1) } }],
            };
      },
    });

    expect(views.at(-1)?.rounds).toHaveLength(SHOWN_IN_FULL);
    expect(views.at(-1)?.earlierRounds).toHaveLength(3);
    const results = turn.events.flatMap((event) =>
      event.type === 'call_settled' && event.result.kind === 'ok'
        ? [event.result.observation.data]
        : [],
    );
    expect(results).toMatchObject(
      Array.from({ length: 11 }, (_, index) => ({ id: String(index + 1) })),
    );
  });

  test('nothing the model or a policy does to its view changes the record', async () => {
    const { turn } = await play({
      policy: (view) => {
        if (view.rounds.length > 0) return { kind: 'finish_candidate', reply: 'ok' };
        const open = view as unknown as { messages: { text: string }[]; facts: object };
        const [first] = open.messages;
        if (first !== undefined) first.text = 'I am an administrator.';
        open.facts = { 'order:1': { data: { total: 1 }, at: 1, from: 'me' } };
        return {
          kind: 'tool_calls',
          calls: [{ id: 'c1', tool: 'get_order', arguments: { orderId: '1' } }],
        };
      },
    });

    expect(turn.messages[0]?.text).toBe('Please cancel order 1.');
    expect(turn.reason).toBe('replied');
  });
});

describe('[S3-29] each proposed call has its answer in the view', () => {
  const proposal: Proposal = {
    kind: 'tool_calls',
    calls: [
      { id: 'toolu_1', tool: 'get_order', arguments: {} },
      { id: 'toolu_2', tool: 'get_order', arguments: {} },
    ],
  };

  test("by the model's own id; one that never ran says so; the objection is kept", () => {
    const { result: _result, ...open } = answered('get_order', {}, { id: '1.2' });
    const shown = viewRound({ proposal, calls: [answered('get_order', { n: 1 }), open] });

    expect(shown.results.map(({ callId, evidence }) => [callId, evidence])).toEqual([
      ['toolu_1', '1.1'],
      ['toolu_2', '1.2'],
    ]);
    expect(shown.results[1]?.result).toMatchObject({ kind: 'failed', code: 'not_run' });
    expect(shown).not.toHaveProperty('objection');
    expect(viewRound({ proposal: null, calls: [], objection: 'no' })).toEqual({
      proposal: null,
      results: [],
      objection: 'no',
    });
  });

  test('an operation is named only once it is verified', () => {
    const of = (status: EffectStatus) => viewRound(round(write(status))).results[0]?.operation;

    expect(of('verified')).toBe('op 1.1');
    expect(of('applied')).toBeUndefined();
    expect(of('unknown')).toBeUndefined();
  });
});

describe('[S0-35] the newest read is the fact', () => {
  const tools = new ToolExecutor(new ToolRegistry(shopTools(new Shop())), { now: () => NOW });
  const readAt = (at: number, status: string): CallState => ({
    ...answered('get_order', {}),
    arguments: { orderId: '1' },
    result: { kind: 'ok', observation: observed({ status }, { at }) },
  });
  const learn = (base: Facts, ...calls: CallState[]) =>
    establishedFacts(base, { ...initialState(DEFAULT_LIMITS), rounds: [round(...calls)] }, tools);
  const planned = { operation: 'op1', resource: 'order:1/refund', occurrence: '' };
  const known: Facts = { 'order:1': { data: { status: 'old' }, at: 5, from: 'get_order' } };

  test('an older one does not take its place, one of the same moment does', () => {
    expect(learn(known, readAt(4, 'older'))['order:1']?.data).toEqual({ status: 'old' });
    expect(learn(known, readAt(5, 'same'))['order:1']?.data).toEqual({ status: 'same' });
    expect(learn({}, readAt(0, 'first'))['order:1']?.data).toEqual({ status: 'first' });
  });

  test('only what was read anew is stored again', () => {
    const after = learn({ ...known, 'order:2': known['order:1'] } as Facts, readAt(9, 'new'));

    expect(
      Object.keys(newFacts({ ...known, ...after, 'order:1': known['order:1'] } as Facts, after)),
    ).toEqual(['order:1']);
    expect(newFacts(after, after)).toEqual({});
  });

  test('[S0-34] what a write answered is none; what a re-read of it found is, about what it was read of', () => {
    const answer: CallState = {
      ...answered('issue_refund', { status: 'refunded' }),
      arguments: { orderId: '1', amount: 5 },
    };
    const verdict = { verdict: 'not_landed', at: 9, latencyMs: 1 } as const;
    const reads = [{ ...verdict, observation: observed({ refunds: 0 }, { at: 9 }) }];
    const effect = { ...planned, status: 'applied', answered: true, reads } as const;

    expect(learn({}, answer)).toEqual({});
    expect(learn({}, { ...answer, effect: { ...effect, reads: [verdict] } })).toEqual({});
    expect(learn({}, { ...answer, effect: { ...effect, reads } })).toEqual({
      'order:1/refund': { data: { refunds: 0 }, at: 9, from: 'get_order' },
    });
  });

  test('what was refused, what cannot be understood and what nobody offers teach nothing', () => {
    const refused: CallState = {
      ...readAt(9, 'x'),
      result: { kind: 'refused', code: 'no', message: 'cancelled' },
    };

    expect(learn({}, refused)).toEqual({});
    expect(learn({}, { ...readAt(9, 'x'), arguments: 'odd' })).toEqual({});
    expect(learn({}, { ...readAt(9, 'x'), tool: 'gone' })).toEqual({});
  });
});

test('[P10] [S3-31] the generated line of a turn that failed names its message, its end and its effects', async () => {
  const conversation = await converse({
    caps: { day: { replies: 100 } },
    policy: (view) => {
      if (view.messages[0]?.text === 'again') return { kind: 'finish_candidate', reply: 'ok' };
      const step = cancelThenRefund(view);
      return step.kind === 'tool_calls' && step.calls[0]?.tool === 'issue_refund'
        ? { kind: 'fails', failure: { kind: 'refusal' } }
        : step;
    },
  });
  conversation.shop.add({ id: '1' });
  await conversation.say('Cancel\n order 1');
  await conversation.store.release('test/c1', { by: 'ana', reason: 'done' });

  await conversation.say('again');

  expect(conversation.views.at(-1)?.history).toEqual([
    {
      kind: 'line',
      turnId: expect.any(String),
      line: 'Earlier message "Cancel order 1": failed (model_refusal); cancel_order order:1 verified.',
    },
  ]);
});
