import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startOrderService } from '../../examples/technova/order-service/start.ts';
import { readWorldFile } from '../../examples/technova/order-service/world.ts';
import { inTransaction, openDatabase } from '../../examples/technova/service/database.ts';
import { launchService } from '../../examples/technova/service/launch.ts';
import { ServiceClient } from '../../examples/technova/service/service-client.ts';
import type { RunningService } from '../../examples/technova/service/service-process.ts';

const HOUR_MS = 3_600_000;
const MAIN = fileURLToPath(
  new URL('../../examples/technova/order-service/main.ts', import.meta.url),
);

const ORDER = {
  id: '4482',
  customerId: 'customer-1',
  status: 'packed',
  placedAt: '2026-03-01T09:00:00Z',
  currency: 'USD',
  total: 74_000,
  lines: [
    { id: 'desk', sku: 'DESK-1', name: 'Desk', quantity: 1, unitPrice: 50_000 },
    { id: 'chair', sku: 'CHAIR-1', name: 'Chair', quantity: 2, unitPrice: 12_000 },
  ],
  settleMs: HOUR_MS,
};
const DELIVERED = { ...ORDER, status: 'delivered', deliveredAt: '2026-03-10T12:00:00Z' };
const FULL_REFUND = { amount: 74_000, reason: 'cancellation' };

let service: RunningService;
let shop: ServiceClient;

beforeEach(async () => {
  service = await startOrderService();
  shop = new ServiceClient(service.url);
});
afterEach(() => service.close());

async function seed(order: object): Promise<void> {
  const { status, body } = await shop.post('/admin/orders', { orders: [order] });
  expect(body).toEqual({ seeded: ['4482'] });
  expect(status).toBe(200);
}

async function set(settings: object): Promise<void> {
  expect((await shop.post('/admin/settings', settings)).status).toBe(200);
}

async function script(...faults: object[]): Promise<void> {
  expect((await shop.post('/admin/faults', { faults })).status).toBe(200);
}

function cancel(key = 'cancel-1', options: { validUntil?: number } = {}) {
  return shop.post('/orders/4482/cancel', undefined, { key, ...options });
}

function refund(
  body: object = FULL_REFUND,
  key = 'refund-1',
  options: { validUntil?: number; signal?: AbortSignal } = {},
) {
  return shop.post('/orders/4482/refunds', body, { key, ...options });
}

async function read(consistency = 'authoritative') {
  return (await shop.get(`/orders/4482?consistency=${consistency}`)).body;
}

async function effects(operation: string): Promise<object[]> {
  return shop.log({ kind: 'effect', operation });
}

function refusal(status: number, code: string): object {
  return { status, body: { error: { code } } };
}

describe('reading', () => {
  it('[S0-42] an eventual read shows the state as it was one replica lag ago, an authoritative one the newest version', async () => {
    await seed({ ...ORDER, settleMs: 0 });
    await set({ replicaLagMs: HOUR_MS });
    await cancel();
    await shop.waitFor('settled:cancel:4482');

    expect(await read()).toMatchObject({
      status: 'cancelled',
      version: 3,
      consistency: 'authoritative',
    });
    expect(await read('eventual')).toMatchObject({
      status: 'packed',
      version: 1,
      consistency: 'eventual',
    });

    await set({ clockOffsetMs: 2 * HOUR_MS });
    expect(await read('eventual')).toMatchObject({ status: 'cancelled', version: 3 });
  });

  it('a list of orders holds the orders of that customer only', async () => {
    await shop.post('/admin/orders', {
      orders: [ORDER, { ...ORDER, id: '5000', customerId: 'customer-2' }],
    });

    const { body } = await shop.get('/orders?customer=customer-2');

    expect(body).toMatchObject({ orders: [{ id: '5000' }] });
  });

  it('an unknown order is answered with order_not_found, for reads and for writes', async () => {
    expect(await shop.get('/orders/4482')).toMatchObject(refusal(404, 'order_not_found'));
    expect(await cancel()).toMatchObject(refusal(404, 'order_not_found'));
    expect(await refund()).toMatchObject(refusal(404, 'order_not_found'));
  });
});

describe('cancelling', () => {
  it.each([202, 200] as const)(
    '[S0-03] an accepted cancellation answers %i and is not yet a cancelled order',
    async (acceptedStatus) => {
      await seed(ORDER);
      await set({ acceptedStatus });
      expect(await read()).toMatchObject({ status: 'packed', cancellation: null });

      const answer = await cancel();

      expect(answer).toMatchObject({ status: acceptedStatus, body: { status: 'accepted' } });
      expect(await read()).toMatchObject({
        status: 'cancellation_pending',
        cancellation: { status: 'pending' },
      });
      await set({ clockOffsetMs: HOUR_MS });
      expect(await read()).toMatchObject({
        status: 'cancelled',
        cancellation: { status: 'settled' },
        refundSide: 'cancelled',
      });
    },
  );

  it('an accepted cancellation settles by itself when its time has come', async () => {
    await seed({ ...ORDER, settleMs: 20 });
    await cancel();

    expect(await shop.waitFor('settled:cancel:4482')).toMatchObject({
      kind: 'settlement',
      orderId: '4482',
    });
  });

  it('[S0-12] a queued cancellation stays in the queue however long one waits, until it is released', async () => {
    await seed({ ...ORDER, cancelBehaviour: 'queued' });
    expect(await cancel()).toMatchObject({ status: 202, body: { status: 'accepted' } });

    await set({ clockOffsetMs: 1000 * HOUR_MS });
    expect(await read()).toMatchObject({
      status: 'cancellation_pending',
      cancellation: { status: 'queued' },
    });

    await shop.post('/admin/release/4482');
    expect(await read()).toMatchObject({
      status: 'cancelled',
      cancellation: { status: 'settled' },
    });
  });

  it('[S0-12] a cancellation that has not reached the refund side looks done on the order side and moves no money', async () => {
    await seed({ ...ORDER, cancelBehaviour: 'not_propagated' });
    expect(await cancel()).toMatchObject({ status: 202, body: { status: 'accepted' } });

    expect(await read('eventual')).toMatchObject({ status: 'cancelled', refundSide: 'open' });
    expect(await read()).toMatchObject({ status: 'cancellation_pending', refundSide: 'open' });
    expect(await refund()).toMatchObject(refusal(409, 'order_not_cancelled'));

    await set({ clockOffsetMs: HOUR_MS });
    expect(await read()).toMatchObject({ status: 'cancelled', refundSide: 'cancelled' });
    expect(await refund()).toMatchObject({ status: 201 });
  });

  it('[S0-12] a partly applied cancellation names the cancelled lines and is completed by a replay with the same key', async () => {
    await seed({ ...ORDER, cancelBehaviour: 'partly_applied' });
    expect(await cancel()).toMatchObject({ status: 202, body: { status: 'accepted' } });
    expect(await read()).toMatchObject({
      status: 'cancellation_pending',
      cancellation: {
        status: 'partial',
        cancelledLines: ['desk'],
        reason: '1 of 2 lines cancelled',
      },
    });

    expect(await cancel()).toMatchObject({ status: 202, replayed: true });

    await set({ clockOffsetMs: HOUR_MS });
    expect(await read()).toMatchObject({
      status: 'cancelled',
      cancellation: { cancelledLines: ['desk', 'chair'] },
    });
    expect(await effects('cancel')).toHaveLength(1);
  });

  it('[S0-12] a partly applied cancellation that stays so is not completed by a replay', async () => {
    await seed({ ...ORDER, cancelBehaviour: 'partly_applied', onReplay: 'stays' });
    await cancel();
    await cancel();
    await set({ clockOffsetMs: HOUR_MS });

    expect(await read()).toMatchObject({
      status: 'cancellation_pending',
      cancellation: { status: 'partial' },
    });
  });

  it.each([{ cancelBehaviour: 'fraud_hold' }, { flags: ['fraud_hold'] }])(
    '[S0-12] a cancellation held for fraud review (%o) is accepted, reads as blocked and leaves the order paid until released',
    async (hold) => {
      await seed({ ...ORDER, status: 'paid', ...hold });
      expect(await cancel()).toMatchObject({ status: 202, body: { status: 'accepted' } });

      await set({ clockOffsetMs: 1000 * HOUR_MS });
      const cancellation = { status: 'blocked', reason: 'fraud review' };
      expect(await read()).toMatchObject({ status: 'paid', flags: ['fraud_hold'], cancellation });

      await shop.post('/admin/release/4482');
      expect(await read()).toMatchObject({ status: 'cancelled', flags: [] });
    },
  );

  it.each(['shipped', 'delivered'])(
    'an order that is %s is not cancelled and says so',
    async (status) => {
      await seed({ ...DELIVERED, status });

      expect(await cancel()).toMatchObject(refusal(409, `order_${status}`));

      expect(await read()).toMatchObject({ status, version: 1, cancellation: null });
    },
  );

  it('cancelling a cancelled order answers 200 and changes nothing', async () => {
    await seed({ ...ORDER, status: 'cancelled' });

    expect(await cancel()).toMatchObject({ status: 200, body: { status: 'already_cancelled' } });

    expect(await read()).toMatchObject({ version: 1 });
    expect(await effects('cancel')).toEqual([]);
  });

  it('a second cancellation under another key joins the open one, and the log shows that it was done twice', async () => {
    await seed(ORDER);
    await cancel('cancel-1');
    await cancel('cancel-2');

    expect(await read()).toMatchObject({ cancellation: { id: 'can-4482-2', requests: 2 } });
    expect(await effects('cancel')).toMatchObject([
      { idempotencyKey: 'cancel-1' },
      { idempotencyKey: 'cancel-2' },
    ]);
  });
});

describe('validity', () => {
  it('a call after the end of its validity is refused and changes nothing', async () => {
    await seed(ORDER);
    const validUntil = Date.now() + HOUR_MS;
    await set({ clockOffsetMs: 2 * HOUR_MS });

    expect(await cancel('cancel-1', { validUntil })).toMatchObject(refusal(410, 'expired'));
    expect(
      await refund({ amount: 1, reason: 'goodwill' }, 'refund-1', { validUntil }),
    ).toMatchObject(refusal(410, 'expired'));

    expect(await read()).toMatchObject({ status: 'packed', version: 1, refunded: 0 });
  });

  it('validity is judged when the call is done, not when it arrives', async () => {
    await seed(ORDER);
    await script({ operation: 'cancel', kind: 'latency', ms: 500 });

    const late = cancel('cancel-1', { validUntil: Date.now() + HOUR_MS });
    await shop.waitFor('fault:cancel:4482');
    await set({ clockOffsetMs: 2 * HOUR_MS });

    expect(await late).toMatchObject(refusal(410, 'expired'));
  });

  it('a repeat of a call that was done is answered from memory even after the end of its validity', async () => {
    await seed(ORDER);
    const validUntil = Date.now() + HOUR_MS;
    await cancel('cancel-1', { validUntil });
    await set({ clockOffsetMs: 2 * HOUR_MS });

    expect(await cancel('cancel-1', { validUntil })).toMatchObject({ status: 202, replayed: true });
  });
});

describe('refunding', () => {
  it('[S0-45] a refund is refused while the order is not cancelled, and paid once it is', async () => {
    await seed(ORDER);
    await cancel();
    expect(await refund()).toMatchObject(refusal(409, 'order_not_cancelled'));
    expect(await effects('refund')).toEqual([]);

    await set({ clockOffsetMs: HOUR_MS });

    expect(await refund()).toMatchObject({
      status: 201,
      body: { refund: { amount: 74_000, status: 'settled' } },
    });
    expect(await effects('refund')).toMatchObject([
      { amount: 74_000, orderStatusAtThatMoment: 'cancelled' },
    ]);
    expect(await read()).toMatchObject({ refunded: 74_000 });
  });

  it.each(['ship', 'reinstate'])(
    '[S0-46] when others %s the order right after it was read as cancelled, the refund is refused and no money moves',
    async (change) => {
      await seed({ ...ORDER, status: 'cancelled' });
      await set({ race: { orderId: '4482', afterRead: 2, change } });
      expect(await read()).toMatchObject({ status: 'cancelled' });
      expect(await read()).toMatchObject({ status: 'cancelled' });

      expect(await refund()).toMatchObject(refusal(409, 'order_not_cancelled'));

      expect(await effects('refund')).toEqual([]);
      expect(await read()).toMatchObject({
        status: change === 'ship' ? 'shipped' : 'paid',
        cancellation: { status: 'failed' },
      });
    },
  );

  it('[S0-06] [S0-47] the shop refuses a refund for an order that is not cancelled whoever asks, unless its own guard is off', async () => {
    await seed(ORDER);
    expect(await refund()).toMatchObject(refusal(409, 'order_not_cancelled'));

    await set({ refundGuard: 'off' });

    expect(await refund({ amount: 99_999, reason: 'cancellation' })).toMatchObject({ status: 201 });
    expect(await effects('refund')).toMatchObject([
      { amount: 99_999, orderStatusAtThatMoment: 'packed' },
    ]);
  });

  it.each([
    ['names no line', DELIVERED, { amount: 100 }, 422, 'line_required'],
    [
      'names a line the order has not',
      DELIVERED,
      { amount: 100, lineId: 'sofa' },
      422,
      'line_unknown',
    ],
    [
      'is for an order on its way',
      { ...ORDER, status: 'shipped' },
      { amount: 100, lineId: 'desk' },
      409,
      'order_not_delivered',
    ],
    [
      'is more than the line cost',
      DELIVERED,
      { amount: 24_001, lineId: 'chair' },
      409,
      'exceeds_line',
    ],
    [
      'is 31 days late',
      { ...DELIVERED, deliveredAt: '2026-02-20T12:00:00Z' },
      { amount: 100, lineId: 'desk' },
      409,
      'outside_window',
    ],
  ])('a defect refund that %s is refused', async (_case, order, wanted, status, code) => {
    await seed(order);
    await set({ businessNow: '2026-03-23T12:00:00Z' });

    expect(await refund({ reason: 'defect', ...wanted })).toMatchObject(refusal(status, code));
    expect(await effects('refund')).toEqual([]);
  });

  it('a defect refund counts what was already refunded on that line', async () => {
    await seed(DELIVERED);
    await set({ businessNow: '2026-04-09T11:59:00Z' });
    const wanted = { reason: 'defect', lineId: 'chair' };

    expect(await refund({ ...wanted, amount: 12_000 }, 'first')).toMatchObject({ status: 201 });
    expect(await refund({ ...wanted, amount: 12_001 }, 'second')).toMatchObject(
      refusal(409, 'exceeds_line'),
    );
    expect(await refund({ ...wanted, amount: 12_000 }, 'third')).toMatchObject({ status: 201 });
  });

  it('all refunds of an order together never exceed its total', async () => {
    await seed({ ...ORDER, status: 'cancelled', refunded: 4_000 });
    expect(await refund({ amount: 69_000, reason: 'cancellation' }, 'first')).toMatchObject({
      status: 201,
    });

    expect(await refund({ amount: 1_001, reason: 'goodwill' }, 'second')).toMatchObject(
      refusal(409, 'exceeds_total'),
    );
    expect(await refund({ amount: 1_000, reason: 'goodwill' }, 'third')).toMatchObject({
      status: 201,
    });
  });

  it('a refund is pending until it settles', async () => {
    await seed({ ...ORDER, status: 'cancelled' });
    await set({ refundSettleMs: HOUR_MS });
    expect(await refund()).toMatchObject({ status: 201, body: { refund: { status: 'pending' } } });
    expect((await shop.get('/orders/4482/refunds')).body).toMatchObject({
      refunds: [{ status: 'pending' }],
    });

    await set({ clockOffsetMs: HOUR_MS });

    await shop.waitFor('settled:refund:4482');
    expect((await shop.get('/orders/4482/refunds')).body).toMatchObject({
      refunds: [{ status: 'settled' }],
    });
  });

  it('a refund is found again by its id and by its idempotency key', async () => {
    await seed({ ...ORDER, status: 'cancelled' });
    await refund();

    expect((await shop.get('/refunds?key=refund-1')).body).toMatchObject({
      refunds: [{ id: 'ref-4482-2', amount: 74_000 }],
    });
    expect((await shop.get('/refunds/ref-4482-2')).body).toMatchObject({
      refund: { idempotencyKey: 'refund-1' },
    });
    expect((await shop.get('/refunds?key=other')).body).toMatchObject({ refunds: [] });
    expect(await shop.get('/refunds/other')).toMatchObject(refusal(404, 'refund_not_found'));
  });

  it('a refund request with wrong fields is refused with their names, the values seen and what to write instead', async () => {
    await seed(ORDER);

    const { status, body } = await refund({ amount: 0.5, reason: 'gift' });

    expect(status).toBe(422);
    expect(JSON.stringify(body)).toMatch(
      /amount is 0\.5: .*reason is .*gift.*: use one of cancellation, defect, goodwill/,
    );
  });
});

describe('idempotency', () => {
  beforeEach(() => seed({ ...ORDER, status: 'cancelled' }));

  it('[S0-25] the same key with the same body gets the earlier answer and has no second effect', async () => {
    const first = await refund({ amount: 100, reason: 'cancellation' });
    const second = await refund({ amount: 100, reason: 'cancellation' });

    expect(first).toMatchObject({ status: 201, replayed: false });
    expect(second).toEqual({ ...first, replayed: true });
    expect(await effects('refund')).toHaveLength(1);
  });

  it('the same key with another body is a conflict and has no effect', async () => {
    await refund({ amount: 100, reason: 'cancellation' });

    expect(await refund({ amount: 200, reason: 'cancellation' })).toMatchObject(
      refusal(422, 'key_conflict'),
    );
    expect(await cancel('refund-1')).toMatchObject(refusal(422, 'key_conflict'));
    expect(await effects('refund')).toHaveLength(1);
  });

  it('a refused call does not use up its key', async () => {
    expect(await refund({ amount: 99_000, reason: 'cancellation' })).toMatchObject(
      refusal(409, 'exceeds_total'),
    );

    expect(await refund({ amount: 100, reason: 'cancellation' })).toMatchObject({
      status: 201,
      replayed: false,
    });
  });

  it('a write without a key is refused', async () => {
    expect(await shop.post('/orders/4482/refunds', FULL_REFUND)).toMatchObject(
      refusal(400, 'key_required'),
    );
  });

  it('with idempotency switched off a repeat is a second effect, and the log still names the key of both', async () => {
    await set({ idempotency: 'off' });
    await refund({ amount: 100, reason: 'cancellation' });
    await refund({ amount: 100, reason: 'cancellation' });

    expect(await effects('refund')).toMatchObject([
      { idempotencyKey: 'refund-1' },
      { idempotencyKey: 'refund-1' },
    ]);
  });
});

describe('faults', () => {
  beforeEach(() => seed({ ...ORDER, status: 'cancelled' }));

  it.each([
    ['fail_before', 503, 0, 'not_processed'],
    ['fail_after', 503, 1, 'applied'],
    ['ack_only', 201, 0, 'acknowledged_only'],
    ['latency', 201, 1, 'applied'],
    ['pause_after', 201, 1, 'applied'],
  ])(
    '%s answers %i, leaves %i refunds and is logged as %s',
    async (kind, status, count, result) => {
      await script({ operation: 'refund', kind, ms: 1 });

      expect(await refund()).toMatchObject({ status });

      expect(await effects('refund')).toHaveLength(count);
      expect((await shop.get('/refunds?key=refund-1')).body).toMatchObject({
        refunds: Array.from({ length: count }, () => ({})),
      });
      expect(await shop.log({ kind: 'request', operation: 'refund' })).toMatchObject([{ result }]);
      expect(await shop.log({ kind: 'fault' })).toMatchObject([{ fault: kind, orderId: '4482' }]);
    },
  );

  it.each([
    ['drop_before', 0],
    ['drop_after', 1],
  ])('%s ends the connection without an answer and leaves %i refunds', async (kind, count) => {
    await script({ operation: 'refund', kind });

    await expect(refund()).rejects.toThrow('fetch failed');

    expect(await effects('refund')).toHaveLength(count);
  });

  it.each([
    ['hang_before', 'fault:refund:4482', 0],
    ['hang_after', 'applied:refund:4482', 1],
  ])('%s never answers and leaves %i refunds', async (kind, event, count) => {
    await script({ operation: 'refund', kind });
    const caller = new AbortController();

    const answer = refund(FULL_REFUND, 'refund-1', { signal: caller.signal });
    await shop.waitFor(event);
    caller.abort();

    await expect(answer).rejects.toThrow('aborted');
    expect(await effects('refund')).toHaveLength(count);
  });

  it('pause_after tells the test that the effect happened while the caller still waits for the answer', async () => {
    await script({ operation: 'refund', kind: 'pause_after', ms: HOUR_MS });
    const caller = new AbortController();
    const answer = refund(FULL_REFUND, 'refund-1', { signal: caller.signal });

    expect(await shop.waitFor('applied:refund:4482')).toMatchObject({
      kind: 'effect',
      idempotencyKey: 'refund-1',
    });

    expect(await Promise.race([answer, shop.get('/health').then(() => 'still waiting')])).toBe(
      'still waiting',
    );
    caller.abort();
    await expect(answer).rejects.toThrow('aborted');
    expect(await refund()).toMatchObject({ status: 201, replayed: true });
  });

  it('a fault hits the calls it names, from the nth on, as often as told', async () => {
    await script({
      operation: 'get',
      orderId: '4482',
      nth: 2,
      times: 2,
      kind: 'fail_before',
      status: 500,
    });
    await shop.post('/admin/orders', { orders: [{ ...ORDER, id: '5000' }] });

    const statuses: number[] = [];
    for (const id of ['4482', '5000', '4482', '5000', '4482', '4482'])
      statuses.push((await shop.get(`/orders/${id}`)).status);

    expect(statuses).toEqual([200, 200, 500, 200, 500, 200]);
  });

  it('reads of refunds have faults of their own', async () => {
    await script({ operation: 'get_refund', kind: 'fail_before' });

    expect(await shop.get('/orders/4482')).toMatchObject({ status: 200 });
    expect(await shop.get('/refunds?key=refund-1')).toMatchObject(refusal(503, 'unavailable'));
  });

  it('random faults are the same ones for the same seed', async () => {
    const run = async (): Promise<number[]> => {
      await shop.post('/admin/faults', {
        random: { seed: 7, probability: { fail_before: 0.3, latency: 0.2 }, ms: 1 },
      });
      const statuses: number[] = [];
      for (let call = 0; call < 40; call += 1)
        statuses.push((await shop.get('/orders/4482')).status);
      return statuses;
    };

    const first = await run();

    expect(new Set(first)).toEqual(new Set([200, 503]));
    expect(await run()).toEqual(first);
  });

  it('an empty script ends all faults', async () => {
    await script({ operation: 'get', kind: 'fail_before', times: 100 });
    await script();

    expect(await shop.get('/orders/4482')).toMatchObject({ status: 200 });
  });
});

describe('log and events', () => {
  it('every call that arrived is in the log with its key, its result and its code, in order', async () => {
    await seed({ ...ORDER, settleMs: 0 });
    await refund();
    await cancel();
    await read();
    await refund();
    await refund();

    const requests = await shop.log({ kind: 'request' });

    expect(requests.map(({ operation, result, code }) => [operation, result, code])).toEqual([
      ['refund', 'refused', 'order_not_cancelled'],
      ['cancel', 'accepted', null],
      ['get', 'read', null],
      ['refund', 'applied', null],
      ['refund', 'replayed', null],
    ]);
    expect(requests[0]).toMatchObject({
      method: 'POST',
      path: '/orders/4482/refunds',
      idempotencyKey: 'refund-1',
      amount: 74_000,
    });
  });

  it('waiting for an event answers when it happens, and with timed_out when it does not', async () => {
    await seed(ORDER);
    const waiting = shop.waitFor('applied:cancel:4482');
    await cancel();
    expect(await waiting).toMatchObject({
      event: 'applied:cancel:4482',
      idempotencyKey: 'cancel-1',
    });

    const never = await shop.get('/admin/events?wait=applied:refund:4482&timeoutMs=1');
    expect(never).toMatchObject(refusal(408, 'timed_out'));
  });

  it('a change by the warehouse is in the log and ends an open cancellation', async () => {
    await seed(ORDER);
    await cancel();

    await shop.post('/admin/ship/4482');

    expect(await shop.waitFor('changed:ship:4482')).toMatchObject({
      kind: 'change',
      orderStatus: 'shipped',
    });
    await set({ clockOffsetMs: 2 * HOUR_MS });
    expect(await read()).toMatchObject({
      status: 'shipped',
      cancellation: { status: 'failed', reason: 'shipped by the warehouse' },
    });
  });

  it('releasing an order without an open cancellation is refused', async () => {
    await seed(ORDER);

    expect(await shop.post('/admin/release/4482')).toMatchObject(
      refusal(409, 'no_open_cancellation'),
    );
  });

  it('an order that is seeded again starts afresh under a higher version, while the log keeps what happened', async () => {
    await seed({ ...ORDER, status: 'cancelled' });
    await refund();

    await seed({ ...ORDER, status: 'cancelled' });

    expect(await read()).toMatchObject({ refunded: 0, version: 3 });
    expect(await refund()).toMatchObject({ status: 201, replayed: false });
    expect(await effects('refund')).toHaveLength(2);
  });

  it('an unknown switch is refused with its name', async () => {
    const { status, body } = await shop.post('/admin/settings', { refundGard: 'off' });

    expect(status).toBe(422);
    expect(JSON.stringify(body)).toContain('remove the unknown field refundGard');
  });
});

describe('the process', () => {
  let folder: string;
  beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'order-service-'))));
  afterEach(() => rmSync(folder, { recursive: true }));

  function environment(more: Record<string, string> = {}): Record<string, string> {
    return { DATA_FILE: join(folder, 'orders.sqlite'), PORT: '0', ...more };
  }

  function worldFile(world: unknown): string {
    const path = join(folder, 'world.json');
    writeFileSync(path, JSON.stringify(world));
    return path;
  }

  it('orders, refunds, keys, switches, due times and the log survive SIGKILL', async () => {
    const SEED_FILE = worldFile({
      orders: [ORDER, { ...ORDER, id: 'paid-back', status: 'cancelled' }],
    });
    const killed = await launchService(MAIN, environment({ SEED_FILE }));
    const before = new ServiceClient(killed.url);
    await before.post('/orders/paid-back/refunds', FULL_REFUND, { key: 'refund-1' });
    await before.post('/orders/4482/cancel', undefined, { key: 'cancel-1' });
    await killed.stop('SIGKILL');

    const restarted = await launchService(MAIN, environment({ SEED_FILE }));
    const after = new ServiceClient(restarted.url);

    expect(
      await after.post('/orders/paid-back/refunds', FULL_REFUND, { key: 'refund-1' }),
    ).toMatchObject({ replayed: true });
    expect(await after.log({ kind: 'effect' })).toMatchObject([
      { operation: 'refund' },
      { operation: 'cancel' },
    ]);
    expect((await after.get('/orders/4482')).body).toMatchObject({
      status: 'cancellation_pending',
    });
    await after.post('/admin/settings', { clockOffsetMs: HOUR_MS });
    await restarted.stop('SIGKILL');

    const again = await launchService(MAIN, environment({ SEED_FILE }));
    await new ServiceClient(again.url).waitFor('settled:cancel:4482');
    expect((await new ServiceClient(again.url).get('/orders/4482')).body).toMatchObject({
      status: 'cancelled',
    });
    await again.stop();
  });

  it('SIGTERM ends the process with code 0, also while a call is held and a poll is open', async () => {
    const running = await launchService(
      MAIN,
      environment({ SEED_FILE: worldFile({ orders: [ORDER] }) }),
    );
    const client = new ServiceClient(running.url);
    await client.post('/admin/faults', {
      faults: [{ operation: 'get', kind: 'pause_after', ms: HOUR_MS }],
    });
    const held = client.get('/orders/4482').catch(() => 'dropped');
    const poll = client.waitFor('applied:refund:4482', 60_000).catch(() => 'ended');
    await client.waitFor('fault:get:4482');

    expect(await running.stop('SIGTERM')).toBe(0);

    expect(await Promise.all([held, poll])).toEqual(['dropped', 'ended']);
  });

  it('a port in use ends the start with code 1 and one line that names it', async () => {
    const port = new URL(service.url).port;

    await expect(launchService(MAIN, environment({ PORT: port }))).rejects.toMatchObject({
      message: expect.stringMatching(
        new RegExp(`^order-service: Port ${port} on 127.0.0.1 is already in use\\. .*set PORT.*$`),
      ) as string,
      cause: { exitCode: 1 },
    });
  });

  it('a bad seed ends the start with one line that names field, value and fix', async () => {
    const SEED_FILE = worldFile({ orders: [{ ...ORDER, status: 'lost', total: 7.5 }] });

    await expect(launchService(MAIN, environment({ SEED_FILE }))).rejects.toThrow(
      /^order-service: the seed: orders\[0\]\.status is "lost": use one of placed, paid.*orders\[0\]\.total is 7\.5: .*$/,
    );
    await expect(
      launchService(MAIN, environment({ SEED_FILE: join(folder, 'none.json') })),
    ).rejects.toThrow('cannot be read');
    await expect(launchService(MAIN, environment({ PORT: 'many' }))).rejects.toThrow(
      'PORT is "many"',
    );
  });

  it('the log can be added to but never changed or shortened', async () => {
    const running = await startOrderService({
      dataFile: join(folder, 'orders.sqlite'),
      seed: { orders: [ORDER] },
    });
    await new ServiceClient(running.url).get('/orders/4482');
    await running.close();

    const db = new DatabaseSync(join(folder, 'orders.sqlite'));
    expect(db.prepare('SELECT count(*) AS lines FROM log').get()).toMatchObject({ lines: 1 });
    expect(() => db.exec("UPDATE log SET fields = '{}'")).toThrow('append-only');
    expect(() => db.exec('DELETE FROM log')).toThrow('append-only');
    db.close();
  });

  it('a step that fails takes back everything it wrote', () => {
    const db = openDatabase(':memory:', 'CREATE TABLE amounts (amount INTEGER)');

    const failing = (): void =>
      inTransaction(db, () => {
        db.exec('INSERT INTO amounts VALUES (1)');
        throw new Error('refused');
      });

    expect(failing).toThrow('refused');
    expect(db.prepare('SELECT * FROM amounts').all()).toEqual([]);
    db.close();
  });

  it("orders in the shop's export format are converted to cents and to lines with ids", () => {
    const exported = {
      id: '10-48311',
      owner: 'customer.three@example.com',
      status: 'delivered',
      placed: '2026-02-10',
      shipped: '2026-02-11',
      delivered: '2026-02-14',
      total: 34.9,
      items: [{ sku: 'LAMP-9', name: 'Desk lamp', qty: 2, price: 17.45 }],
      paid: true,
      refunded: 0,
      flags: ['sale_item'],
    };

    const { orders } = readWorldFile(worldFile({ currency: 'EUR', orders: [exported] }));

    expect(orders).toMatchObject([
      {
        customerId: 'customer.three@example.com',
        deliveredAt: '2026-02-14T00:00:00Z',
        total: 3_490,
        lines: [{ id: 'line-1', quantity: 2, unitPrice: 1_745 }],
        flags: ['sale_item'],
      },
    ]);
  });
});
