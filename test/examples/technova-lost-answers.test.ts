import { describe, expect, test } from 'vitest';
import { stepsOf } from '../../examples/technova/agent/comparison.ts';
import { HURRIED, startTechnova, type Technova } from '../support/technova.ts';

const WISH = 'Please cancel order #4482 and refund me.';

async function script({ shop }: Technova, ...faults: object[]) {
  const { status, body } = await shop.post('/admin/faults', { faults });
  if (status !== 200) throw new Error(JSON.stringify(body));
}

async function keysOf({ shop }: Technova, operation: 'cancel' | 'refund') {
  const calls = await shop.log({ kind: 'request', operation });
  return new Set(calls.map((entry) => entry['idempotencyKey']));
}

describe.each(['drop_after', 'hang_after', 'fail_after'])(
  'the answer is lost after the deed (%s)',
  (kind) => {
    test.each(['cancel', 'refund'] as const)(
      '[P5] [P4] %s: a re-read finds it done, it is not sent again and is never called failed',
      async (operation) => {
        const technova = await startTechnova(undefined, { pace: HURRIED });
        await script(technova, { operation, kind });

        const turn = await technova.answer(WISH);

        expect(turn).toMatchObject({ outcome: 'completed', reason: 'replied' });
        expect(await technova.effects(operation)).toHaveLength(1);
        expect(await technova.shop.log({ kind: 'request', operation })).toHaveLength(1);
        const tool = operation === 'cancel' ? 'cancel_order' : 'issue_refund';
        const [step] = stepsOf(turn.events).filter((one) => one.tool === tool);
        expect(step).toMatchObject({
          toolSaid: expect.stringMatching(/^unknown/),
          rereadSaid: 'landed',
        });
        expect(await technova.rig.records.ledger('test/c1')).toMatchObject([
          { tool: 'cancel_order', status: 'verified', attempts: 1 },
          { tool: 'issue_refund', status: 'verified', attempts: 1 },
        ]);
      },
    );
  },
);

describe.each(['drop_before', 'hang_before', 'fail_before'])(
  'the call is lost before the deed (%s)',
  (kind) => {
    test.each(['cancel', 'refund'] as const)(
      '[P5] %s: told so only when a late arrival would be refused; asked again under the same key it happens once',
      async (operation) => {
        const technova = await startTechnova(undefined, { pace: HURRIED });
        await script(technova, { operation, kind });

        const turn = await technova.answer(WISH);

        expect(turn).toMatchObject({ outcome: 'completed', reason: 'replied' });
        expect(turn.state.rounds).toHaveLength(5);
        expect(await technova.effects(operation)).toHaveLength(1);
        expect((await keysOf(technova, operation)).size).toBe(1);
        const lost = turn.state.rounds
          .flatMap(({ calls }) => calls)
          .find(({ effect }) => effect?.status === 'not_landed');
        const lastRead = lost?.effect?.reads.at(-1);
        expect(lastRead?.at).toBeGreaterThan(lost?.effect?.validUntil ?? Infinity);
      },
    );
  },
);

test('[P5] a refund that arrives after its validity is refused by the order service, and the next attempt pays once', async () => {
  const technova = await startTechnova(undefined, { pace: HURRIED });
  // The refund is valid for 0.8 s and gets there after 1 s, while the re-read is still on its way.
  await script(
    technova,
    { operation: 'refund', kind: 'latency', ms: 1_000 },
    { operation: 'get_refund', kind: 'latency', ms: 400 },
  );

  const turn = await technova.answer(WISH);

  expect(turn).toMatchObject({ outcome: 'completed', reason: 'replied' });
  const calls = await technova.shop.log({ kind: 'request', operation: 'refund' });
  expect(calls.map((entry) => [entry['result'], entry['code']]).toSorted()).toEqual([
    ['applied', null],
    ['refused', 'expired'],
  ]);
  expect(await technova.refunds()).toHaveLength(1);
});

describe('a success that is not true (ack_only)', () => {
  test('[P6] [S0-41] of a refund: the re-read never finds it, nobody tells the customer that it was paid', async () => {
    const technova = await startTechnova(undefined, { pace: HURRIED });
    await script(technova, { operation: 'refund', kind: 'ack_only' });

    const turn = await technova.answer(WISH);
    const replies = await technova.repliesIn();

    expect(turn).toMatchObject({ outcome: 'escalated', reason: 'verification_failed' });
    expect(stepsOf(turn.events).at(-1)).toMatchObject({
      toolSaid: 'settled',
      rereadSaid: 'not_landed, not_landed, not_landed, not_landed',
    });
    expect(replies).toEqual([technova.agent.rules.texts.handover]);
    expect(await technova.rig.records.ledger('test/c1')).toMatchObject([
      {},
      { status: 'not_landed' },
    ]);
  });

  test('[P6] of a cancellation: no refund follows', async () => {
    const technova = await startTechnova(undefined, { pace: HURRIED });
    await script(technova, { operation: 'cancel', kind: 'ack_only' });

    expect(await technova.answer(WISH)).toMatchObject({
      outcome: 'escalated',
      reason: 'verification_failed',
    });
    expect(await technova.effects()).toEqual([]);
    expect(await technova.shop.log({ kind: 'request', operation: 'refund' })).toEqual([]);
  });
});

test('[S0-50] a refund that is pending at first is waited for, and told only once it is settled', async () => {
  const technova = await startTechnova(undefined, { pace: HURRIED });
  await technova.shop.post('/admin/settings', { refundSettleMs: 100 });

  const turn = await technova.answer(WISH);

  expect(stepsOf(turn.events).at(-1)).toMatchObject({
    toolSaid: 'pending',
    rereadSaid: expect.stringMatching(/^pending, .*landed$/),
  });
  expect(turn).toMatchObject({ reason: 'replied' });
});

test('a re-read that fails is no verdict: it is read again', async () => {
  const technova = await startTechnova(undefined, { pace: HURRIED });
  await script(technova, { operation: 'get_refund', kind: 'fail_before', times: 2 });

  const turn = await technova.answer(WISH);

  expect(stepsOf(turn.events).at(-1)).toMatchObject({ rereadSaid: 'unknown, unknown, landed' });
  expect(await technova.refunds()).toHaveLength(1);
});

test('[S1-05] while orders cannot be read, the turn tries once more and then hands over without inventing anything', async () => {
  const technova = await startTechnova(undefined, { pace: HURRIED });
  await script(technova, { operation: 'get', kind: 'fail_before', times: 10 });

  const turn = await technova.answer(WISH);
  await technova.desk.waitFor('applied:note:c1');

  expect(turn).toMatchObject({ outcome: 'escalated', reason: 'model_escalated' });
  expect(await technova.shop.log({ kind: 'request', operation: 'get' })).toHaveLength(2);
  expect(await technova.effects()).toEqual([]);
});
