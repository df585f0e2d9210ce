import { describe, expect, test } from 'vitest';
import { orderOf, startTechnova, type Technova } from '../support/technova.ts';

const WISH = 'Please cancel order #4482 and refund me.';

/** Someone changes the order right after its nth authoritative read. */
async function race({ shop }: Technova, afterRead: number, change: 'ship' | 'reinstate') {
  await shop.post('/admin/settings', { race: { orderId: '4482', afterRead, change } });
}

describe.each(['ship', 'reinstate'] as const)(
  'the order changes (%s) between re-read and refund',
  (change) => {
    test('[S0-45] [S0-46] no money moves, and people are told', async () => {
      const technova = await startTechnova();
      // Read once to decide and once to verify the cancellation; then it is too late to notice for the loop.
      await race(technova, 2, change);

      const turn = await technova.answer(WISH);
      await technova.desk.waitFor('applied:note:c1');

      expect(turn).toMatchObject({ outcome: 'escalated', reason: 'model_escalated' });
      expect(await technova.refunds()).toEqual([]);
      expect(await technova.shop.log({ kind: 'request', operation: 'refund' })).toMatchObject([
        { result: 'refused', code: 'order_not_cancelled' },
      ]);
      expect(await technova.rig.records.ledger('test/c1')).toMatchObject([
        { tool: 'cancel_order', status: 'verified' },
        { tool: 'issue_refund', status: 'rejected' },
      ]);
    });

    test('[S0-46] nor when the change comes after an approval was checked against the order', async () => {
      const technova = await startTechnova({
        orders: [orderOf({ currency: 'USD', total: 74_000, lines: dear })],
      });
      // Reads: to decide, to verify the cancellation, for the approver, and once more when the approval comes back.
      await race(technova, 4, change);

      await technova.say(WISH);
      await technova.decide('approved');
      const [turn] = await technova.ended();

      expect(turn).toMatchObject({ outcome: 'escalated', reason: 'model_escalated' });
      expect(await technova.refunds()).toEqual([]);
    });
  },
);

const dear = [{ id: 'line-1', sku: 'MON-27', name: 'Monitor', quantity: 1, unitPrice: 74_000 }];

describe('the order changes while a person is asked', () => {
  test('the approval does not cover the changed order: it is asked again, with what is true now', async () => {
    const technova = await startTechnova({
      orders: [orderOf({ currency: 'USD', total: 74_000, lines: dear })],
    });
    await technova.say(WISH);
    await technova.waiting();
    const [first] = await technova.rig.records.pendingApprovals();

    await technova.shop.post('/admin/ship/4482');
    await technova.decide('approved');
    const second = await technova.asked(2);

    expect(first?.seen).toMatchObject({ status: 'cancelled', total: 74_000, refunded: 0 });
    expect(second.seen).toMatchObject({ status: 'shipped' });
    expect(second).toMatchObject({ tool: 'issue_refund', arguments: first?.arguments });
    expect(await technova.shop.log({ kind: 'request', operation: 'refund' })).toEqual([]);
  });

  test('[S0-46] a person who agrees even so moves no money: the order service refuses', async () => {
    const technova = await startTechnova({
      orders: [orderOf({ currency: 'USD', total: 74_000, lines: dear })],
    });
    await technova.say(WISH);
    await technova.waiting();
    await technova.shop.post('/admin/ship/4482');
    await technova.decide('approved');
    await technova.asked(2);

    await technova.decide('approved');
    const [turn] = await technova.ended();

    expect(turn).toMatchObject({ outcome: 'escalated', reason: 'model_escalated' });
    expect(await technova.refunds()).toEqual([]);
    expect(await technova.shop.log({ kind: 'request', operation: 'refund' })).toMatchObject([
      { result: 'refused', code: 'order_not_cancelled' },
    ]);
  });
});
