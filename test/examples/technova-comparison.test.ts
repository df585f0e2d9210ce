import { describe, expect, test } from 'vitest';
import { stepsOf } from '../../examples/technova/agent/comparison.ts';
import { naiveRun } from '../../examples/technova/agent/naive.ts';
import { HURRIED, orderOf, startServices, startTechnova } from '../support/technova.ts';

const WISH = 'Please cancel order #4482 and refund me.';
/** Accepted, and not cancelled while anybody waits for it. */
const neverSettles = { orders: [orderOf({ settleMs: 3_600_000 })] };

async function unguarded(world: { orders: object[] }) {
  const technova = await startTechnova(world, { pace: HURRIED });
  await technova.shop.post('/admin/settings', { refundGuard: 'off' });
  return technova;
}

describe('naive and safe on the same scenario', () => {
  test('[S0-13] with the guard off, naive pays for an order that is not cancelled', async () => {
    const { shop } = await startServices(neverSettles);
    await shop.post('/admin/settings', { refundGuard: 'off' });

    const naive = await naiveRun(shop.url, '4482');

    expect(naive.refunded).toBe(4_000);
    expect(await shop.log({ kind: 'effect', operation: 'refund' })).toMatchObject([
      { orderId: '4482', amount: 4_000, orderStatusAtThatMoment: 'cancellation_pending' },
    ]);
  });

  test('[S0-13] [P6] with the guard off, safe pays nothing as long as the order is not cancelled', async () => {
    const technova = await unguarded(neverSettles);

    const turn = await technova.answer(WISH);

    expect(turn).toMatchObject({ outcome: 'escalated', reason: 'verification_failed' });
    expect(await technova.refunds()).toEqual([]);
    // Waiting means re-reading; the mutation is not sent again.
    expect(await technova.shop.log({ kind: 'request', operation: 'cancel' })).toHaveLength(1);
  });

  test('[S0-13] [S0-44] safe pays once the order itself says cancelled', async () => {
    const technova = await unguarded({ orders: [orderOf({ settleMs: 100 })] });

    const turn = await technova.answer(WISH);

    expect(turn).toMatchObject({ outcome: 'completed', reason: 'replied' });
    expect(await technova.refunds()).toMatchObject([
      { amount: 4_000, orderStatusAtThatMoment: 'cancelled' },
    ]);
  });

  test('[S0-30] [S0-38] the steps come in the order of the procedure: read, cancel, re-read, refund, re-read', async () => {
    const technova = await unguarded({ orders: [orderOf()] });

    await technova.answer(WISH);

    const calls = await technova.shop.log({ kind: 'request' });
    expect(calls.map((entry) => entry['operation'])).toEqual([
      'get',
      'cancel',
      'get',
      'refund',
      'get_refund',
    ]);
  });

  test('[S0-13] [S0-56] both traces read side by side: the gap between what the tool and the re-read said', async () => {
    const { shop } = await startServices(neverSettles);
    await shop.post('/admin/settings', { refundGuard: 'off' });
    const technova = await unguarded(neverSettles);

    const naive = await naiveRun(shop.url, '4482');
    const safe = stepsOf((await technova.answer(WISH)).events).filter(
      ({ tool }) => tool !== 'load_skill',
    );

    expect(naive.steps).toEqual([
      { tool: 'get_order', arguments: { orderId: '4482' }, toolSaid: 'paid', rereadSaid: null },
      {
        tool: 'cancel_order',
        arguments: { orderId: '4482' },
        toolSaid: 'accepted',
        rereadSaid: null,
      },
      {
        tool: 'issue_refund',
        arguments: { orderId: '4482', amount: 4_000, reason: 'cancellation' },
        toolSaid: 'settled',
        rereadSaid: null,
      },
    ]);
    expect(safe).toEqual([
      naive.steps[0],
      { ...naive.steps[1], rereadSaid: 'pending, pending, pending, pending' },
    ]);
  });

  test('[S0-47] [S0-32] with the guard on, the order service itself refuses the naive refund', async () => {
    const { shop } = await startServices(neverSettles);

    const naive = await naiveRun(shop.url, '4482');

    expect(naive).toMatchObject({
      refunded: 0,
      steps: [{}, {}, { toolSaid: 'refused order_not_cancelled' }],
    });
    expect(await shop.log({ kind: 'effect', operation: 'refund' })).toEqual([]);
    expect(await shop.log({ kind: 'request', operation: 'refund' })).toMatchObject([
      { result: 'refused', code: 'order_not_cancelled', httpStatus: 409 },
    ]);
  });
});

/** Why an accepted cancellation is not a cancelled order, and what becomes of the turn. */
const twoLines = {
  total: 4_000,
  lines: ['line-1', 'line-2'].map((id) => ({
    id,
    sku: id,
    name: id,
    quantity: 1,
    unitPrice: 2_000,
  })),
};
const causes = [
  { cause: 'still queued', order: { cancelBehaviour: 'queued' }, reread: 'pending' },
  {
    cause: 'not propagated to the refund side',
    order: { cancelBehaviour: 'not_propagated', settleMs: 3_600_000 },
    reread: 'pending',
  },
  {
    cause: 'partly applied',
    order: { ...twoLines, cancelBehaviour: 'partly_applied' },
    reread: 'pending',
  },
  { cause: 'held for fraud review', order: { cancelBehaviour: 'fraud_hold' }, reread: 'blocked' },
];

describe.each(causes)('a cancellation that was accepted and is $cause', ({ order, reread }) => {
  const world = { orders: [orderOf(order)] };

  test('[S0-12] [S0-48] is not followed by a refund; people take over', async () => {
    const technova = await unguarded(world);

    const turn = await technova.answer(WISH);
    await technova.desk.waitFor('applied:note:c1');

    expect(turn).toMatchObject({ outcome: 'escalated', reason: 'verification_failed' });
    const cancel = stepsOf(turn.events).at(-1);
    expect(cancel).toMatchObject({ tool: 'cancel_order', toolSaid: 'accepted' });
    expect(new Set(cancel?.rereadSaid?.split(', '))).toEqual(new Set([reread]));
    expect(await technova.refunds()).toEqual([]);
  });

  test('[S0-12] deceives the naive path', async () => {
    const { shop } = await startServices(world);
    await shop.post('/admin/settings', { refundGuard: 'off' });

    await naiveRun(shop.url, '4482');

    const [paid] = await shop.log({ kind: 'effect', operation: 'refund' });
    expect(paid?.['orderStatusAtThatMoment']).not.toBe('cancelled');
  });
});

describe('a cancellation that settles while it is re-read', () => {
  test('[S0-12] [S0-48] once the refund side knows, the refund follows in the same turn', async () => {
    const technova = await unguarded({
      orders: [orderOf({ cancelBehaviour: 'not_propagated', settleMs: 100 })],
    });

    expect(await technova.answer(WISH)).toMatchObject({ outcome: 'completed', reason: 'replied' });
    expect(await technova.refunds()).toMatchObject([{ orderStatusAtThatMoment: 'cancelled' }]);
  });

  test('[S0-42] a lagging replica that says cancelled already is not what is asked', async () => {
    const technova = await unguarded({
      orders: [orderOf({ cancelBehaviour: 'not_propagated', settleMs: 3_600_000 })],
    });

    await technova.answer(WISH);

    const { body } = await technova.shop.get('/orders/4482?consistency=eventual');
    expect(body).toMatchObject({ status: 'cancelled' });
    expect(await technova.refunds()).toEqual([]);
  });

  test('[S0-03] 200 with the status accepted is no more than 202', async () => {
    const technova = await unguarded(neverSettles);
    await technova.shop.post('/admin/settings', { acceptedStatus: 200 });

    expect(await technova.answer(WISH)).toMatchObject({ reason: 'verification_failed' });
    expect(await technova.refunds()).toEqual([]);
  });
});
