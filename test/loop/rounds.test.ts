import { describe, expect, test } from 'vitest';
import { MODEL_FAILURES, type ProposalInput, type TurnEvent } from '../../src/contracts/index.ts';
import type { View } from '../../src/loop/index.ts';
import { Records } from '../../src/store/records.ts';
import { traceOf } from '../../src/telemetry/index.ts';
import { ToolRefusal, ToolUnavailable } from '../../src/tools/index.ts';
import { cancelThenRefund } from '../support/cancel-then-refund.ts';
import { Shop, shopTools } from '../support/shop.ts';
import { openStore } from '../support/store.ts';
import { converse, play, type PlayOptions } from './play.ts';

const get = (orderId = '1'): ProposalInput => ({
  kind: 'tool_calls',
  calls: [{ id: 'toolu_1', tool: 'get_order', arguments: { orderId } }],
});
const reply: ProposalInput = { kind: 'finish_candidate', reply: 'Done.' };
const once = (proposal: ProposalInput) => (view: View) =>
  view.rounds.length === 0 ? proposal : reply;
const eventsOf = <T extends TurnEvent['type']>(events: readonly TurnEvent[], type: T) =>
  events.filter((event): event is Extract<TurnEvent, { type: T }> => event.type === type);

describe('a round', () => {
  test('[S4-01] asks, runs what was approved, and feeds what came back into the next one', async () => {
    const { views, shop, turn } = await play({ policy: once(get()) });

    expect(shop.calls).toEqual(['get 1']);
    expect(views.map(({ rounds }) => rounds.length)).toEqual([0, 1]);
    expect(views[1]?.rounds[0]).toMatchObject({
      proposal: { kind: 'tool_calls' },
      results: [{ callId: 'toolu_1', result: { kind: 'ok', observation: { data: { id: '1' } } } }],
    });
    expect(turn.reason).toBe('replied');
  });

  test('[S4-04] [S4-06] without a request for tools it is judged and ends there: an answer of one step takes one call', async () => {
    const { views, turn } = await play({
      policy: () => ({ ...reply, reply: 'I will now call get_order(1) and check.' }),
    });

    expect(views).toHaveLength(1);
    expect(turn.events.map(({ type }) => type)).toEqual([
      ...['turn_started', 'model_requested', 'model_responded', 'finish_judged', 'turn_ended'],
    ]);
  });

  test('[S4-02] the tools a model is offered are the ones the executor can run', async () => {
    const { views } = await play({ policy: () => reply });
    const tools = shopTools(new Shop());

    expect(views[0]?.tools.map(({ name }) => name)).toEqual(tools.map(({ name }) => name));
    for (const tool of views[0]?.tools ?? []) {
      expect(tool.description).toMatch(/Not for: /);
      expect(tool.parameters).toMatchObject({ type: 'object' });
    }
  });
});

describe('the record', () => {
  test('[S4-63] [S4-16] holds the result of a round before the model is asked again, and a call before it is sent', async () => {
    const opened = await openStore();
    const records = new Records(opened.store);
    const known: string[][] = [];
    const note = async () => {
      const [turn] = await records.turnsOf('test/c1');
      known.push(
        turn?.events.map(({ type }) => type).filter((type) => type !== 'turn_started') ?? [],
      );
    };
    const shop = new Shop();
    const [getOrder, cancel, refund] = shopTools(shop);
    if (getOrder === undefined || cancel === undefined || refund === undefined) throw new Error();

    await play({
      ...{ opened, shop },
      tools: [
        {
          ...getOrder,
          run: async (args, context) => {
            await note();
            return getOrder.run(args, context);
          },
        },
        {
          ...cancel,
          run: async (args, context) => {
            await note();
            return cancel.run(args, context);
          },
        },
        refund,
      ],
      policy: async (view) => {
        await note();
        return cancelThenRefund(view);
      },
    });

    // Right before the order is read; right before the second model call; right before the cancellation.
    expect(known[1]?.slice(-2)).toEqual(['calls_checked', 'call_started']);
    expect(known[2]?.slice(-2)).toEqual(['call_settled', 'model_requested']);
    expect(known[3]?.slice(-2)).toEqual(['calls_checked', 'call_started']);
    expect(known.at(-1)?.slice(-2)).toEqual(['verification_read', 'model_requested']);
  });

  test('[S4-11] says of each step who said it, what, under which id, how it came out, when, and by which model', async () => {
    const { turn } = await play({ policy: once(get()) });

    const [responded] = eventsOf(turn.events, 'model_responded');
    const [settled] = eventsOf(turn.events, 'call_settled');
    expect(responded).toMatchObject({
      at: expect.any(Number),
      model: 'scripted',
      proposal: { calls: [{ id: 'toolu_1' }] },
    });
    expect(settled).toMatchObject({
      at: expect.any(Number),
      callId: '1.1',
      result: { kind: 'ok', observation: { provenance: 'get_order', callId: '1.1' } },
    });
    expect(turn.messages[0]).toMatchObject({
      text: expect.any(String),
      acceptedAt: expect.any(Number),
    });
  });

  test('[S4-60] [S4-31] the timeline of a turn that runs out of time in its second tool names both actions and the reason', async () => {
    const clock = { ms: Date.now(), now: () => clock.ms };
    const shop = new Shop();
    shop.add({ id: '1' });
    shop.add({ id: '2' });
    shop.onRead = ({ id }) => {
      clock.ms += id === '2' ? 1_000 : 1;
    };

    const { turn } = await play({
      ...{ shop, clock, limits: { deadlineMs: 500 } },
      policy: (view) => get(String(view.rounds.length + 1)),
    });

    const start = turn.events[0]?.at ?? 0;
    expect(turn.events.map(({ type, at }) => [at - start, type])).toEqual([
      [0, 'turn_started'],
      [0, 'model_requested'],
      [0, 'model_responded'],
      [0, 'calls_checked'],
      [0, 'call_started'],
      [1, 'call_settled'],
      [1, 'model_requested'],
      [1, 'model_responded'],
      [1, 'calls_checked'],
      [1, 'call_started'],
      [1_001, 'call_settled'],
      [1_001, 'stop_requested'],
      [1_001, 'turn_ended'],
    ]);
    expect(turn).toMatchObject({ outcome: 'timed_out', reason: 'deadline' });
    expect(turn.state.rounds.flatMap(({ calls }) => calls.map(({ id }) => id))).toEqual([
      '1.1',
      '2.1',
    ]);
  });

  test('[S4-32] a turn that failed too often keeps the count and the last request with its result', async () => {
    const { turn, said } = await play({
      limits: { rounds: 10 },
      policy: (view) => get(String(404 + view.rounds.length)),
    });

    expect(turn.events.at(-1)).toMatchObject({
      ending: { reason: 'consecutive_failures' },
      repetition: { rounds: 5, identical: 1 },
    });
    expect(turn.state.rounds.at(-1)).toMatchObject({
      proposal: { calls: [{ arguments: { orderId: '408' } }] },
      calls: [{ result: { kind: 'refused', code: 'order_not_found' } }],
    });
    expect(said('note')[0]).toContain('5 rounds, 1 identical.');
  });

  test('[S4-62] [S4-28] what happened stands before what was planned: people read what is done, what is not certain, and only then what is safe', async () => {
    const shop = new Shop();
    shop.add({ id: '1' });
    shop.faults['refund'] = ['lost_after'];
    shop.faults['get'] = [
      'none',
      'none',
      ...Array.from({ length: 9 }, () => 'lost_before' as const),
    ];

    const { said, turn } = await play({ shop, policy: cancelThenRefund });

    expect(turn.reason).toBe('effect_unknown');
    const lines = (said('note')[0] ?? '').split('\n');
    expect(lines.slice(1, 6)).toEqual([
      'Asked: Please cancel order 1.',
      'Done: cancel_order order:1 verified; issue_refund order:1/refund unknown.',
      'Not certain: issue_refund order:1/refund unknown.',
      'Left undone: nothing.',
      'Next: settle what is not certain in the system that owns it before anything is repeated.',
    ]);
  });
});

describe('[S3-17] a turn', () => {
  test('takes one message and a history in, and gives one outcome and one entry of the history out', async () => {
    const conversation = await converse({ policy: once(get()) });
    conversation.shop.add({ id: '1' });
    const first = await conversation.say('One');
    await conversation.say('Two');

    expect(first.claimed.messages.map(({ text }) => text)).toEqual(['One']);
    expect(first.claimed.history).toEqual([]);
    expect(first.rest).toMatchObject({ kind: 'ended', ending: { outcome: 'completed' } });
    expect(conversation.views.at(-1)?.history).toMatchObject([
      { kind: 'turn', customer: ['One'], reply: 'Done.', rounds: [{}, {}] },
    ]);
  });

  test('[S0-36] remembers nothing of other conversations of the same customer', async () => {
    const first = await converse({ policy: once(get()) });
    first.shop.add({ id: '1' });
    await first.say('One');
    const second = await converse({
      ...{ opened: first, policy: () => reply, conversationId: 'c2' },
    });

    await second.say('Two');

    expect(second.views[0]).toMatchObject({ history: [], facts: {}, rounds: [], effects: [] });
  });
});

describe('[S3-19] nothing that fails is thrown past a turn', () => {
  test.each<[string, Error]>([
    ['a refusal', new ToolRefusal('no', 'no')],
    ['an outage', new ToolUnavailable('down', 'down')],
    ['a defect', new TypeError('x is not a function')],
  ])('%s of a tool is a result', async (_name, error) => {
    const { turn } = await play({
      tools: shopTools(new Shop(), { get_order: { run: () => Promise.reject(error) } }),
      policy: once(get()),
    });

    expect(turn.reason).toBe('replied');
    expect(turn.state.rounds[0]?.calls[0]?.result?.kind).toMatch(/^(refused|failed)$/);
  });

  test.each(MODEL_FAILURES)('a model call that ends as %s leads to a named end', async (kind) => {
    const { rest } = await play({
      limits: { modelFailures: 1, rejectedFinishes: 1, parks: 1 },
      policy: () => ({ kind: 'fails', failure: { kind } }),
    });

    expect(rest).toMatchObject({ kind: 'ended' });
    expect(rest.kind === 'ended' && rest.ending.reason).not.toBe('internal');
  });
});

describe('[S3-38] [S2-27] what became of a call', () => {
  const kinds = async (options: PlayOptions, proposal: ProposalInput = get()) => {
    const { views, turn } = await play({ policy: once(proposal), ...options });
    const shown = views[1]?.rounds[0]?.results[0]?.result;
    const traced = traceOf(turn.events).spans.find(({ kind }) => kind === 'tool_call');
    return { shown, traced: traced?.attributes };
  };
  const tools = (run: () => Promise<unknown>) => shopTools(new Shop(), { get_order: { run } });

  test('done, said no, did not happen and rejected stay apart, each with a face for the model and one for the trace', async () => {
    expect(await kinds({})).toMatchObject({ shown: { kind: 'ok' }, traced: { toolSaid: 'ok' } });
    expect(
      await kinds({ tools: tools(() => Promise.reject(new ToolRefusal('gone', 'it is gone'))) }),
    ).toMatchObject({
      shown: { kind: 'refused', code: 'gone', message: 'get_order refused: it is gone' },
      traced: { toolSaid: 'refused', code: 'gone' },
    });
    expect(
      await kinds({ tools: tools(() => Promise.reject(new ToolUnavailable('down', 'secret'))) }),
    ).toMatchObject({
      // Whether it may be tried again is said by the runtime.
      shown: { kind: 'failed', code: 'down', transient: true },
      traced: { toolSaid: 'failed', code: 'down' },
    });
    expect(await kinds({ tools: tools(() => Promise.resolve({ odd: 1 })) })).toMatchObject({
      shown: { kind: 'failed', code: 'invalid_output', transient: false },
    });
    expect(await kinds({}, get('x'))).toMatchObject({
      shown: { kind: 'rejected', check: 'schema', code: 'invalid_arguments' },
    });
  });

  test('[S4-26] an answer that was cut is marked as a part of it', async () => {
    const shop = new Shop();
    shop.add({ id: '1', owner: 'ana@example.com' });
    const big = tools(() =>
      Promise.resolve({
        ...{ id: 'x'.repeat(20_000), owner: 'ana@example.com', status: 'paid' },
        ...{ total: 1, version: 1 },
      }),
    );

    expect(await kinds({ shop, tools: big })).toMatchObject({
      shown: {
        kind: 'ok',
        observation: { truncated: true, data: expect.stringContaining('[cut:') },
      },
    });
  });
});
