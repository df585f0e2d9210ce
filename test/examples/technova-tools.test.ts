import { describe, expect, test } from 'vitest';
import { technovaAgent } from '../../examples/technova/agent/agent.ts';
import { cancellationVerdict } from '../../examples/technova/agent/cancel-order.ts';
import { orderSchema } from '../../examples/technova/agent/shapes.ts';
import { checkCall, initialState, type CallState } from '../../src/loop/index.ts';
import { DEFAULT_LIMITS, type Facts, type Requester } from '../../src/contracts/index.ts';
import { ToolExecutor, ToolRegistry } from '../../src/tools/index.ts';
import { message } from '../loop/contract.ts';
import { delivered, deserted, orderOf, startServices } from '../support/technova.ts';

const ana: Requester = { id: 'ana@example.com', assurance: 'verified' };
const clock = { now: () => Date.now() };

function toolsAt(orderServiceUrl: string) {
  const agent = technovaAgent({ orderServiceUrl, ticketDeskUrl: 'http://desk.invalid' });
  return { agent, tools: new ToolExecutor(new ToolRegistry(agent.tools), clock) };
}

function callOf(tool: string, args: object): CallState {
  return { id: '1.1', tool, arguments: args, step: 'admitted' };
}

const NO_JUDGE = { tokens: 0, costMicros: 0 };

function call(tools: ToolExecutor, tool: string, args: object, principal: Requester = ana) {
  const context = {
    operation: 'op-1',
    validUntil: Date.now() + 2_000,
    silenceMs: 2_000,
    budget: NO_JUDGE,
    principal,
  };
  return tools.call(callOf(tool, args), context);
}

const orderArguments = { orderId: '4482' };
const refund = { orderId: '4482', amount: 4_000, reason: 'cancellation' };

describe('how an answer of the order service is understood', () => {
  test('a 4xx of a write is a refusal with the code of the service', async () => {
    const { shop } = await startServices();
    const { tools } = toolsAt(shop.url);

    expect(await call(tools, 'issue_refund', refund)).toMatchObject({
      kind: 'refused',
      code: 'order_not_cancelled',
    });
    expect(await call(tools, 'get_order', { orderId: '9999' })).toMatchObject({
      kind: 'refused',
      code: 'order_not_found',
    });
  });

  test('[P5] a 5xx of a write leaves it open whether it happened; of a read it is a failure', async () => {
    const { shop } = await startServices();
    const { tools } = toolsAt(shop.url);
    const faults = ['cancel', 'refund', 'get', 'get_refund'].map((operation) => ({
      operation,
      kind: 'fail_before',
    }));
    await shop.post('/admin/faults', { faults });

    expect(await call(tools, 'cancel_order', orderArguments)).toMatchObject({ kind: 'unknown' });
    expect(await call(tools, 'issue_refund', refund)).toMatchObject({ kind: 'unknown' });
    const down = { kind: 'failed', code: 'service_down', transient: true };
    expect(await call(tools, 'get_order', orderArguments)).toMatchObject(down);
    expect(await call(tools, 'get_refund', orderArguments)).toMatchObject(down);
  });

  test('[P5] a refused connection is the one network error after which nothing can have happened', async () => {
    const { tools } = toolsAt(await deserted());

    const down = { kind: 'failed', code: 'service_down', transient: true };
    expect(await call(tools, 'get_order', orderArguments)).toMatchObject(down);
    expect(await call(tools, 'cancel_order', orderArguments)).toMatchObject(down);
  });

  test('[P5] a call that came too late was turned away: it may be made again', async () => {
    const { shop } = await startServices();
    const { tools } = toolsAt(shop.url);
    await shop.post('/admin/settings', { clockOffsetMs: 60_000 });

    expect(await call(tools, 'cancel_order', orderArguments)).toMatchObject({
      kind: 'failed',
      code: 'expired',
    });
  });

  test('a success that cannot be read is told apart from silence', async () => {
    const { desk } = await startServices();
    // Another service answers at that address: 200, and not an order.
    const { tools } = toolsAt(`${desk.url}/state?`);

    expect(await call(tools, 'get_order', orderArguments)).toMatchObject({
      kind: 'failed',
      code: 'invalid_output',
    });
  });

  test('[S0-20] [S0-25] a write carries its operation as the key and its end of validity', async () => {
    const { shop } = await startServices();
    const { tools } = toolsAt(shop.url);
    const validUntil = Date.now() + 1_500;

    await tools.call(callOf('cancel_order', orderArguments), {
      operation: 'op-7',
      validUntil,
      principal: ana,
      silenceMs: 2_000,
      budget: NO_JUDGE,
    });

    expect(await shop.log({ kind: 'request' })).toMatchObject([
      { idempotencyKey: 'op-7', validUntil },
    ]);
  });

  test("[S2-23] somebody else's order is withheld, whatever it holds", async () => {
    const { shop } = await startServices();
    const { tools } = toolsAt(shop.url);

    const result = await call(tools, 'get_order', orderArguments, {
      id: 'eve@example.com',
      assurance: 'verified',
    });

    expect(result).toEqual({
      kind: 'rejected',
      check: 'authorization',
      code: 'not_yours',
      message: expect.any(String),
    });
    expect(JSON.stringify(result)).not.toContain('Case');
  });
});

describe('what the contracts let through', () => {
  const { agent, tools } = toolsAt('http://shop.invalid');
  const factOf = (order: object): Facts => ({
    'order:4482': {
      data: orderSchema.parse({
        version: 1,
        refunded: 0,
        deliveredAt: null,
        flags: [],
        cancellation: null,
        ...order,
      }),
      at: 1,
      from: 'get_order',
    },
  });
  const paid = factOf(orderOf());
  const cancelled = factOf(orderOf({ status: 'cancelled' }));
  const broken = factOf(delivered());
  const check = (tool: string, args: object, facts: Facts, principal = ana) =>
    checkCall(
      { ...callOf(tool, args), step: 'proposed' },
      { inRound: 0, inBatch: 0 },
      {
        state: initialState(DEFAULT_LIMITS),
        facts,
        principal,
        rules: agent.rules,
        tools,
        claimed: { messages: [message('It is about my order 4482.')], history: [] },
      },
    );
  const defect = { orderId: '4482', amount: 1_100, reason: 'defect', lineId: 'line-2' };

  test.each<[string, string, object, Facts, string]>([
    ['an order nobody has read', 'cancel_order', orderArguments, {}, 'order_not_read'],
    [
      'a shipped order',
      'cancel_order',
      orderArguments,
      factOf(orderOf({ status: 'shipped' })),
      'not_cancellable',
    ],
    ['a delivered order', 'cancel_order', orderArguments, broken, 'not_cancellable'],
    ['an order number with #', 'cancel_order', { orderId: '#4482' }, paid, 'invalid_arguments'],
    [
      'a path in the order number',
      'cancel_order',
      { orderId: '1/../admin' },
      paid,
      'invalid_arguments',
    ],
    ['a refund before the cancellation', 'issue_refund', refund, paid, 'order_not_cancelled'],
    [
      'a cent more than is left',
      'issue_refund',
      { ...refund, amount: 4_001 },
      cancelled,
      'amount_not_justified',
    ],
    ['nothing at all', 'issue_refund', { ...refund, amount: 0 }, cancelled, 'amount_not_justified'],
    ['a broken amount', 'issue_refund', { ...refund, amount: 0.5 }, cancelled, 'invalid_arguments'],
    [
      'more than the line cost',
      'issue_refund',
      { ...defect, amount: 2_201 },
      broken,
      'amount_not_justified',
    ],
    [
      'a line that is not there',
      'issue_refund',
      { ...defect, lineId: 'line-9' },
      broken,
      'line_unknown',
    ],
    [
      'a defect without a line',
      'issue_refund',
      { ...defect, lineId: undefined },
      broken,
      'line_unknown',
    ],
    [
      'a reason it does not know',
      'issue_refund',
      { ...refund, reason: 'goodwill' },
      cancelled,
      'invalid_arguments',
    ],
    ['refunds of an order nobody has read', 'get_refund', orderArguments, {}, 'order_not_read'],
  ])('[S2-22] not %s', (_what, tool, args, facts, code) => {
    expect(check(tool, args, facts)).toMatchObject({ kind: 'rejected', code });
  });

  test.each([
    ['cancel_order', orderArguments, paid],
    ['issue_refund', refund, cancelled],
    ['issue_refund', defect, broken],
  ])('[S2-23] %s is for the owner and for a verified requester only', (tool, args, facts) => {
    expect(check(tool, args, facts)).toMatchObject({ kind: 'passed' });
    expect(
      check(tool, args, facts, { id: 'eve@example.com', assurance: 'verified' }),
    ).toMatchObject({
      check: 'authorization',
      code: 'not_yours',
    });
    expect(check(tool, args, facts, { ...ana, assurance: 'claimed' })).toMatchObject({
      check: 'authorization',
      code: 'requester_not_verified',
    });
  });

  test.each([
    ['get_order', {}],
    ['get_refund', paid],
  ])('%s answers somebody who says who they are, and nobody else', (tool, facts) => {
    expect(check(tool, orderArguments, facts, { ...ana, assurance: 'claimed' })).toMatchObject({
      kind: 'passed',
    });
    expect(check(tool, orderArguments, facts, { ...ana, assurance: 'none' })).toMatchObject({
      code: 'requester_not_verified',
    });
  });

  test('[S0-39] cancelling never needs a person; a refund does above the limit of its currency', () => {
    const dear = { ...refund, amount: 74_000 };
    const inCurrency = (currency: string) =>
      factOf(orderOf({ status: 'cancelled', total: 74_000, currency }));

    expect(check('cancel_order', orderArguments, paid)).not.toHaveProperty('person');
    expect(check('issue_refund', refund, cancelled)).not.toHaveProperty('person');
    expect(check('issue_refund', dear, inCurrency('USD'))).toMatchObject({
      person: 'refund of 740.00 USD on order 4482 is above the limit of 500.00 USD',
    });
    expect(check('issue_refund', dear, inCurrency('CHF'))).toMatchObject({
      person: 'no limit is configured for CHF',
    });
  });

  test('[S0-24] [S0-27] lines of an order are separate operations, its cancellation is one', () => {
    const operation = (tool: string, args: object, facts: Facts): string | undefined => {
      const checked = check(tool, args, facts);
      return checked.kind === 'passed' ? checked.effect?.operation : undefined;
    };

    const first = operation('issue_refund', defect, broken);
    expect(operation('issue_refund', { ...defect, amount: 2_200 }, broken)).toBe(first);
    expect(operation('issue_refund', { ...defect, lineId: 'line-1' }, broken)).not.toBe(first);
    expect(operation('cancel_order', orderArguments, paid)).toEqual(expect.any(String));
  });
});

describe('[S0-21] what a re-read says about a cancellation', () => {
  test.each([
    ['cancelled', 'settled', 'landed'],
    ['cancellation_pending', 'queued', 'pending'],
    ['cancellation_pending', 'pending', 'pending'],
    ['cancellation_pending', 'partial', 'pending'],
    ['paid', 'blocked', 'blocked'],
    ['paid', 'failed', 'not_landed'],
    ['shipped', 'failed', 'not_landed'],
    ['paid', null, 'not_landed'],
  ])('order %s, cancellation %s: %s', (status, cancellation, verdict) => {
    const order = orderSchema.parse({
      ...orderOf({ status }),
      version: 1,
      refunded: 0,
      deliveredAt: null,
      flags: [],
      cancellation: cancellation === null ? null : { status: cancellation, reason: null },
    });

    expect(cancellationVerdict(order)).toBe(verdict);
  });
});
