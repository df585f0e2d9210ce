import { describe, expect, test } from 'vitest';
import type { EventOf } from '../../src/contracts/index.ts';
import { openaiModel, providersOf, withFallback } from '../../src/models/index.ts';
import {
  fault,
  type Api,
  type Behaviour,
  type ModelRequest,
} from '../support/model-server/index.ts';
import { Shop, shopTools } from '../support/shop.ts';
import { endpoint, hello, modelAt, openModelShop } from './models-stage.ts';
import { startRig } from '../support/rig.ts';
import { openShop } from './waiting-shop.ts';

const APIS: readonly Api[] = ['chat', 'responses', 'messages'];

const call = (name: string, args: object): Behaviour => ({
  do: 'answer',
  calls: [{ name, arguments: args }],
});

/** Cancels, refunds and says so, by what it has heard: one step a request. */
function cancelAndRefund({ heard }: ModelRequest): Behaviour {
  const results = heard.filter((text) => text.includes('"status":"ok"'));
  const steps = [
    call('get_order', { orderId: '1' }),
    call('cancel_order', { orderId: '1' }),
    call('issue_refund', { orderId: '1', amount: 2_000 }),
    call('finish', {
      reply: 'Order 1 is cancelled.',
      claims: [{ text: 'Order 1 is cancelled.', evidence: ['2.1'] }],
      as: 'replied',
    }),
  ];
  return steps[results.length] ?? fault('error', 'chat');
}

describe.each(APIS)('a turn whose model speaks %s', (api) => {
  test('[S3-34] reads, cancels, pays back and replies, and each step is on record with what it cost', async () => {
    const server = await endpoint(cancelAndRefund);
    const { write, ended, target, shop } = await openModelShop(modelAt(server, api));

    await write('c1');
    const turn = await ended('c1');
    await target.arrived('reply', 1);

    expect(turn).toMatchObject({ outcome: 'completed', reason: 'replied' });
    expect(target.of('reply')).toEqual(['Order 1 is cancelled.']);
    expect(shop.effects.map(({ kind, statusThen }) => [kind, statusThen])).toEqual([
      ['cancel', 'paid'],
      ['refund', 'cancelled'],
    ]);
    expect(server.requests).toHaveLength(4);
    const answers = turn.events.filter((event) => event.type === 'model_responded');
    expect(answers.map(({ model, usage }) => [model, usage.costMicros])).toEqual(
      Array.from({ length: 4 }, () => ['m', 100 * 1 + 20 * 2]),
    );
    expect(turn.state.spent).toMatchObject({ tokens: 4 * 120, costMicros: 4 * 140 });
  });

  test('gets the reason when its answer cannot be read, and answers again', async () => {
    const server = await endpoint(({ number }) =>
      number === 0
        ? { do: 'answer', calls: [{ name: 'get_order', arguments: '{"orderId":' }] }
        : hello,
    );
    const { write, ended, shop } = await openModelShop(modelAt(server, api));

    await write('c1');
    const { reason } = await ended('c1');

    expect([reason, shop.calls]).toEqual(['replied', []]);
    expect(server.requests[1]?.heard.at(-1)).toContain('the arguments of call 1 are not JSON');
  });
});

describe.each(APIS)('[S3-26] a call that %s cuts off at the length of the answer', (api) => {
  test('is not run, is no part of what the conversation remembers, and the next request is not broken by it', async () => {
    const server = await endpoint(({ number }) =>
      number === 0
        ? {
            ...{ do: 'answer', end: 'length', usage: { input: 100, output: 500 } },
            calls: [{ id: 'cut', name: 'cancel_order', arguments: '{"orderId":"1"' }],
          }
        : hello,
    );
    const { write, ended, shop, operator, target, redis, store } = await openModelShop(
      modelAt(server, api),
    );

    await write('c1');
    const { reason } = await ended('c1');
    const tag = store.tagOf('test/c1');
    const [entry = '{}', ...others] = await redis.lrange(`${tag}:hist:test/c1`, 0, -1);
    await operator.release('test/c1', { by: 'ana', reason: 'on with it' });
    await write('c1', 'And now?');
    await target.arrived('reply', 1);

    expect([reason, shop.calls, others]).toEqual(['max_tokens', [], []]);
    expect(JSON.parse(entry)).toMatchObject({
      kind: 'line',
      line: expect.stringContaining('failed (max_tokens); no effects.'),
    });
    expect(JSON.stringify(server.requests[1]?.body)).not.toContain('"cut"');
  });
});

describe('a model that does not answer', () => {
  test('[P8] after a stream that stalls the turn waits without a slot, and a second one ends it timed_out/silence', async () => {
    const server = await endpoint(() => ({ do: 'stall' }));
    const { write, ended, failures, target } = await openModelShop(modelAt(server, 'chat'), {
      limits: { silenceMs: 400, modelFailures: 2 },
      host: { concurrency: 1 },
    });

    await write('c1');
    const turn = await ended('c1');

    expect(turn).toMatchObject({ outcome: 'timed_out', reason: 'silence' });
    expect((await failures('c1')).map(({ failure }) => failure)).toEqual([
      { kind: 'silence' },
      { kind: 'silence' },
    ]);
    expect(turn.events.filter(({ type }) => type === 'turn_parked')).toHaveLength(1);
    // What was reserved is paid: nobody knows what a call that went silent has used.
    expect(turn.state.spent.tokens).toBeGreaterThan(2 * 500);
    await target.arrived('handover', 1);
    await expect.poll(() => server.open()).toBe(0);
  });

  test('a wrong key ends the turn failed/model_unavailable at once: one request, nothing is paid, people take over', async () => {
    const server = await endpoint(({ api }) => fault('auth', api));
    const { write, ended, target } = await openModelShop(modelAt(server, 'responses'));

    await write('c1');
    const turn = await ended('c1');
    await target.arrived('handover', 1);

    expect(turn).toMatchObject({ outcome: 'failed', reason: 'model_unavailable' });
    expect(turn.events.some(({ type }) => type === 'turn_parked')).toBe(false);
    expect(turn.state.spent).toMatchObject({ tokens: 0, costMicros: 0 });
    expect(server.requests).toHaveLength(1);
  });

  test('[P16] and words its error with a key in it leaves the key out of record and note', async () => {
    const server = await endpoint(({ api }) => fault('auth', api));
    const { write, ended, target } = await openModelShop(
      modelAt(server, 'chat', { apiKey: 'sk-proj-secretsecretabcd' }),
    );

    await write('c1');
    const turn = await ended('c1');
    await target.arrived('note', 1);

    const kept = JSON.stringify([turn, target.sent]);
    expect(kept).not.toContain('sk-proj');
    expect(kept).toContain('invalid_api_key');
  });

  test('is helped out by the other one in the same call, whose name is on record', async () => {
    const down = await endpoint(({ api }) => fault('overloaded', api));
    const up = await endpoint(() => hello);
    const { write, ended } = await openModelShop(
      withFallback(modelAt(down, 'chat'), modelAt(up, 'messages', { model: 'the-other' })),
    );

    await write('c1');
    const turn = await ended('c1');

    expect(turn.events.filter(({ type }) => type.startsWith('model_'))).toMatchObject([
      { type: 'model_requested' },
      { type: 'model_responded', model: 'the-other' },
    ]);
    expect([down.requests.length, up.requests.length]).toEqual([1, 1]);
  });
});

describe('tokens of a real model', () => {
  const spending = (input: number) =>
    endpoint(({ number }) => {
      const step = number === 0 ? call('get_order', { orderId: '1' }) : hello;
      return { ...step, usage: { input, output: 20 } } as Behaviour;
    });

  test('[P8] [S0-54] what the provider counted, and not the estimate, is what the next call has left', async () => {
    const dear = await spending(9_000);
    const cheap = await spending(50);
    const limits = { tokens: 10_000 };
    const exhausted = await openModelShop(modelAt(dear, 'chat'), { limits });
    const enough = await openModelShop(modelAt(cheap, 'chat'), { limits });

    await exhausted.write('c1');
    await enough.write('c1');
    const [over, done] = [await exhausted.ended('c1'), await enough.ended('c1')];

    expect(over).toMatchObject({ outcome: 'budget_exhausted', reason: 'token_budget' });
    expect(over.state.spent.tokens).toBe(9_020);
    expect(dear.requests).toHaveLength(1);
    expect(done).toMatchObject({ outcome: 'completed', reason: 'replied' });
    expect(done.state.spent.tokens).toBe(2 * 70);
    const [{ reserved } = { reserved: undefined }] = done.events.filter(
      (event): event is EventOf<'model_requested'> => event.type === 'model_requested',
    );
    expect(reserved?.tokens).toBeGreaterThan(70);
  });

  test('[P8] a call that may cost more than is left is not made', async () => {
    const server = await endpoint(() => hello);
    const { write, ended } = await openModelShop(
      modelAt(server, 'chat', { prices: { input: 0, output: 1_000 } }),
      { limits: { costMicros: 499_999 } },
    );

    await write('c1');

    expect(await ended('c1')).toMatchObject({
      ...{ outcome: 'budget_exhausted', reason: 'cost_budget' },
    });
    expect(server.requests).toEqual([]);
  });

  test('are by our own count where the server does not count', async () => {
    const server = await endpoint(() => ({ ...hello, usage: null }));
    const { write, ended } = await openModelShop(modelAt(server, 'chat'));

    await write('c1');
    const { spent } = (await ended('c1')).state;

    expect(spent.tokens).toBeGreaterThan(100);
    expect(spent.costMicros).toBeGreaterThanOrEqual(spent.tokens);
  });
});

describe('before a worker starts', () => {
  test('a model nobody knows the price of is refused, with what to configure', () => {
    expect(() => openaiModel({ apiKey: 'k', model: 'my-own-model' })).toThrow(
      /model is "my-own-model".*set prices/,
    );
  });

  test.each([
    ['a name a provider does not take', { name: 'get order' }, /tools\.get order/],
    ['the name of a way to end a turn', { name: 'finish' }, /give the tool another name/],
  ])('a tool with %s is refused', async (_what, change, message) => {
    const server = await endpoint(() => hello);
    const [get, ...others] = shopTools(new Shop());
    if (get === undefined) throw new Error('the shop has no tools');
    const rig = await startRig({
      model: withFallback(modelAt(server, 'chat'), modelAt(server, 'messages')),
      tools: [{ ...get, ...change }, ...others],
    });

    await expect(rig.startHost()).rejects.toThrow(message);
    expect(server.requests).toEqual([]);
  });

  test('the tools of the shop can be offered to every provider, in strict mode too', async () => {
    const server = await endpoint(() => hello);
    const models = APIS.map((api) => modelAt(server, api, { strictSchemas: true }));
    expect(models.flatMap(providersOf)).toHaveLength(3);

    for (const model of models) {
      const { startHost } = await openShop({ model });
      await startHost();
    }
  });
});
