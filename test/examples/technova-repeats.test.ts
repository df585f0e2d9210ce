import { describe, expect, test } from 'vitest';
import { policy } from '../../examples/technova/agent/policy.ts';
import { seenIn } from '../../examples/technova/agent/turn-so-far.ts';
import type { View } from '../../src/loop/index.ts';
import { scriptedModel } from '../../src/models/index.ts';
import { delivered, orderOf, startTechnova } from '../support/technova.ts';

const WISH = 'Please cancel order #4482 and refund me.';
type Arguments = Readonly<Record<string, unknown>>;

/** A model that has its refund, and asks for it again in the next round, in these words. */
function insisting(rephrase: (args: Arguments) => Arguments) {
  return scriptedModel((view: View) => {
    const refunds = seenIn(view).filter(({ tool }) => tool === 'issue_refund');
    if (refunds.length === 2) return { kind: 'finish_candidate', reply: 'Done.' };
    const [first] = refunds;
    if (first === undefined) return policy(view);
    const again = { id: 'again', tool: 'issue_refund', arguments: rephrase(first.args) };
    return { kind: 'tool_calls', calls: [again] };
  });
}

describe('a model that asks for the same refund again in a later round', () => {
  test('[P4] [S1-18] pays once; the second answer is the earlier outcome', async () => {
    const technova = await startTechnova(undefined, { model: insisting((args) => args) });

    const turn = await technova.answer(WISH);

    const answers = turn.state.rounds.flatMap(({ calls }) =>
      calls.filter(({ tool }) => tool === 'issue_refund'),
    );
    expect(answers).toMatchObject([
      { result: { kind: 'ok' } },
      {
        result: { kind: 'ok', earlier: true, observation: { data: { refund: { amount: 4_000 } } } },
      },
    ]);
    expect(await technova.refunds()).toHaveLength(1);
    expect(await technova.shop.log({ kind: 'request', operation: 'refund' })).toHaveLength(1);
  });

  test.each<[string, (args: Arguments) => Arguments, object]>([
    [
      'with a word more',
      (args) => ({ ...args, note: 'as promised' }),
      { kind: 'ok', earlier: true },
    ],
    [
      'in another order',
      ({ reason, ...args }) => ({ reason, ...args }),
      { kind: 'ok', earlier: true },
    ],
    ['for a cent less', (args) => ({ ...args, amount: 3_999 }), { code: 'amount_not_justified' }],
    [
      'for a negative amount',
      (args) => ({ ...args, amount: -4_000 }),
      { code: 'amount_not_justified' },
    ],
    ['as a text', (args) => ({ ...args, amount: '4000' }), { code: 'invalid_arguments' }],
    ['for a line of it', (args) => ({ ...args, lineId: 'line-1' }), { code: 'line_not_expected' }],
    [
      'as a defect',
      (args) => ({ ...args, reason: 'defect', lineId: 'line-1' }),
      { code: 'order_not_delivered' },
    ],
    [
      'spelling the order otherwise',
      (args) => ({ ...args, orderId: '#4482' }),
      { code: 'invalid_arguments' },
    ],
  ])('[P4] and rephrases it %s pays once', async (_how, rephrase, second) => {
    const technova = await startTechnova(undefined, { model: insisting(rephrase) });

    const turn = await technova.answer(WISH);

    expect(turn.state.rounds.at(3)?.calls).toMatchObject([
      { tool: 'issue_refund', result: second },
    ]);
    expect(await technova.refunds()).toHaveLength(1);
  });
});

describe('a refund of another line', () => {
  test('[P4] [S0-27] asked for in a second message is another operation and is paid as well', async () => {
    const technova = await startTechnova({ orders: [delivered()] });

    await technova.say('The bowl of order #4482 arrived broken, please refund it.');
    await technova.ended(1);
    await technova.say('One glass of order #4482 is broken as well, please refund it.');
    await technova.ended(2);

    expect(await technova.refunds()).toMatchObject([
      { lineId: 'line-1', amount: 1_800 },
      { lineId: 'line-2', amount: 1_100 },
    ]);
    const keys = (await technova.refunds()).map((entry) => entry['idempotencyKey']);
    expect(new Set(keys).size).toBe(2);
  });

  test('[S0-27] proposed together with the first is paid as well', async () => {
    const call = (id: string, lineId: string, amount: number) => ({
      id,
      tool: 'issue_refund',
      arguments: { orderId: '4482', reason: 'defect', lineId, amount },
    });
    const model = scriptedModel((view) => {
      if (view.rounds.length === 0) return policy(view);
      if (view.rounds.length > 1) return { kind: 'finish_candidate', reply: 'Both are refunded.' };
      return {
        kind: 'tool_calls',
        calls: [call('a', 'line-1', 1_800), call('b', 'line-2', 2_200)],
      };
    });
    const technova = await startTechnova({ orders: [delivered()] }, { model });

    await technova.answer('The bowl and both glasses of order #4482 are broken. Refund please.');

    expect(await technova.refunds()).toMatchObject([{ amount: 1_800 }, { amount: 2_200 }]);
  });
});

describe('a customer who asks twice in two messages', () => {
  test('[P4] is paid once: the second is a possible repeat, answered from what was paid', async () => {
    const technova = await startTechnova({ orders: [delivered()] });

    await technova.say('One of the two glasses of order #4482 is broken, please refund it.');
    await technova.say('Hello? One glass of order #4482 was broken. I want my refund.');
    const [, second] = await technova.ended(2);

    expect(second?.state.rounds.flatMap(({ calls }) => calls)).toMatchObject([
      { tool: 'get_order' },
      {
        tool: 'issue_refund',
        result: { kind: 'rejected', check: 'idempotency', code: 'possible_repeat' },
      },
      { tool: 'get_refund', result: { kind: 'ok' } },
    ]);
    expect((await technova.repliesIn('c1', 2)).at(-1)).toMatch(/refunded already: 11\.00 EUR/);
    expect(await technova.refunds()).toHaveLength(1);
  });

  test('[P4] gets the order cancelled once and paid once', async () => {
    const technova = await startTechnova();

    await technova.say(WISH);
    await technova.say(WISH);
    const turns = await technova.ended(2);

    expect(turns).toMatchObject([{ reason: 'replied' }, { reason: 'replied' }]);
    expect(await technova.effects()).toMatchObject([
      { operation: 'cancel' },
      { operation: 'refund' },
    ]);
  });

  test('[S0-27] cancelling is one operation whoever asks: from another conversation too', async () => {
    // Not yet cancelled by the time the second conversation asks, so that it has reason to.
    const technova = await startTechnova({ orders: [orderOf({ settleMs: 400 })] });
    await technova.say(WISH);
    await technova.say(WISH, { conversationId: 'c2' });

    await Promise.all([technova.ended(1), technova.ended(1, 'test/c2')]);

    expect(await technova.effects('cancel')).toHaveLength(1);
    expect(await technova.refunds()).toHaveLength(1);
  });
});

describe('a model that skips a step of the procedure', () => {
  const skipping = scriptedModel((view) => {
    if (view.rounds.length === 0) return policy(view);
    if (view.rounds.length > 1) return { kind: 'escalate', rationale: 'it was refused' };
    const args = { orderId: '4482', amount: 4_000, reason: 'cancellation' };
    return { kind: 'tool_calls', calls: [{ id: 'c', tool: 'issue_refund', arguments: args }] };
  });

  test('[S0-32] refunds without cancelling: the runtime rejects it and nothing is sent', async () => {
    const technova = await startTechnova(undefined, { model: skipping });

    const turn = await technova.answer(WISH);

    expect(turn.state.rounds.at(1)?.calls).toMatchObject([
      { result: { kind: 'rejected', check: 'authorization', code: 'order_not_cancelled' } },
    ]);
    expect(await technova.shop.log({ kind: 'request', operation: 'refund' })).toEqual([]);
  });

  test('[S2-23] writes about an order nobody has read in this conversation: rejected', async () => {
    const blind = scriptedModel((view) =>
      view.rounds.length > 0
        ? { kind: 'escalate', rationale: 'it was refused' }
        : {
            kind: 'tool_calls',
            calls: [{ id: 'c', tool: 'cancel_order', arguments: { orderId: '4482' } }],
          },
    );
    const technova = await startTechnova(undefined, { model: blind });

    const turn = await technova.answer(WISH);

    expect(turn.state.rounds.at(0)?.calls).toMatchObject([
      { result: { kind: 'rejected', check: 'authorization', code: 'order_not_read' } },
    ]);
    expect(await technova.shop.log({ kind: 'request' })).toEqual([]);
  });
});
