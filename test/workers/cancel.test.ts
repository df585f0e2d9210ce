import { describe, expect, test } from 'vitest';
import type { View } from '../../src/loop/index.ts';
import { scriptedModel, type ScriptedAnswer } from '../../src/models/index.ts';
import { cancelThenRefund } from '../support/cancel-then-refund.ts';
import { Shop } from '../support/shop.ts';
import {
  Held,
  heldModel,
  heldTool,
  openShop,
  SLOW_CANCELLATION,
  stopOf,
  type Manner,
  type ShopOptions,
} from './waiting-shop.ts';

const ANA = { by: 'ana', reason: 'wrong order' };

/** Cancels while something is held, and waits for the note to people. */
async function cancelled(held: Held, options: ShopOptions) {
  const stage = await openShop(options);
  await stage.startHost();
  await stage.say('cancel my order');
  await held.begun;
  const asked = await stage.operator.cancel(await stage.openTurn(), ANA);
  await stage.target.arrived('note', 1);
  const [turn] = await stage.turns();
  return { ...stage, asked, turn, stop: stopOf(turn), note: stage.target.of('note')[0] };
}

const ENDINGS = {
  obeys: { reason: 'cancelled', how: 'stopped', words: 'ended when told to' },
  ignores: { reason: 'force_terminated', how: 'abandoned', words: 'may still be running' },
  finishes: { reason: 'cancelled', how: 'completed', words: 'ran to its end all the same' },
} as const satisfies Record<Manner, object>;
const MANNERS = Object.keys(ENDINGS) as Manner[];

describe('[P12] [S4-33] [S4-42] [S4-43] a turn that is cancelled while a tool runs', () => {
  test.each(MANNERS)(
    '[S4-44] [S4-45] and the tool %s: two moments, what was under way and how that ended, nothing rolled back',
    async (manner) => {
      const shop = new Shop();
      const held = new Held(manner);
      const { asked, turn, stop, note, records } = await cancelled(held, {
        shop,
        changed: { cancel_order: heldTool(shop, 'cancel_order', held) },
      });

      const { reason, how, words } = ENDINGS[manner];
      expect(asked).toMatchObject({ kind: 'requested', running: ['cancel_order (2.1)'] });
      expect(turn).toMatchObject({ outcome: 'cancelled', reason });
      expect(stop).toMatchObject({
        ...ANA,
        cause: 'cancelled',
        running: ['cancel_order (2.1)'],
        how,
      });
      expect(stop?.requestedAt).toBeLessThanOrEqual(stop?.at ?? 0);
      expect(note).toContain(
        `cancel_order (2.1) ${manner === 'ignores' ? 'was left behind and ' : ''}${words}`,
      );
      // It was done, and nobody says otherwise: the ledger knows an answer or says that it does not know.
      expect(shop.effects.map(({ kind }) => kind)).toEqual(['cancel']);
      const status = manner === 'finishes' ? 'applied' : 'unknown';
      expect(await records.ledger('test/c1')).toMatchObject([{ status }]);
      expect(note).toContain(`Not certain: cancel_order order:1 ${status}`);
    },
  );

  test.each(MANNERS)(
    '[S4-45] nothing is started after it, whatever the reading tool does: %s',
    async (manner) => {
      const shop = new Shop();
      const held = new Held(manner);
      const { stop, target, turn } = await cancelled(held, {
        shop,
        changed: { get_order: heldTool(shop, 'get_order', held) },
      });

      expect(stop).toMatchObject({ running: ['get_order (1.1)'], how: ENDINGS[manner].how });
      expect(turn?.events.at(-2)?.type).toBe('stop_requested');
      expect(shop.calls).toEqual(['get 1']);
      expect(target.of('reply')).toEqual([]);
    },
  );

  test('[S4-46] tools that run side by side: the one that was left behind decides how it ended', async () => {
    const shop = new Shop();
    shop.add({ id: '2' });
    const held = new Held('ignores');
    const tool = heldTool(shop, 'get_order', held);
    const both = (view: View): ScriptedAnswer =>
      view.rounds.length > 0
        ? { kind: 'finish_candidate', reply: 'Done.' }
        : {
            kind: 'tool_calls',
            calls: ['1', '2'].map((id) => ({ id, tool: 'get_order', arguments: { orderId: id } })),
          };
    const { turn, stop } = await cancelled(held, {
      shop,
      policy: both,
      changed: {
        get_order: {
          ...tool,
          run: (args, context) =>
            (args as { orderId: string }).orderId === '1'
              ? tool.run?.(args, context)
              : Promise.resolve(shop.read('2')),
        } as typeof tool,
      },
    });

    expect(turn?.reason).toBe('force_terminated');
    expect(stop).toMatchObject({
      running: ['get_order (1.1)', 'get_order (1.2)'],
      how: 'abandoned',
    });
    const settled = turn?.events.filter(({ type }) => type === 'call_settled');
    expect(settled).toMatchObject([
      { callId: '1.1', result: { code: 'stopped', abandoned: true } },
      { callId: '1.2', result: { kind: 'ok' } },
    ]);
  });
});

describe('[P12] [S4-33] a turn that is cancelled while the model is asked', () => {
  test.each(MANNERS)('[S4-42] [S4-43] and the model %s', async (manner) => {
    const shop = new Shop();
    const held = new Held(manner);
    const { turn, stop, target } = await cancelled(held, { shop, model: heldModel(held) });

    const { reason, how } = ENDINGS[manner];
    expect(turn).toMatchObject({ outcome: 'cancelled', reason });
    expect(stop).toMatchObject({ ...ANA, running: ['model'], how });
    expect(shop.calls).toEqual([]);
    expect(target.of('reply')).toEqual([]);
  });

  test('[S4-45] a reply the model gives after the stop was asked for is not sent', async () => {
    const held = new Held('finishes');
    const hello = (): ScriptedAnswer => ({ kind: 'finish_candidate', reply: 'Hello.' });
    const { turn, stop, target } = await cancelled(held, { model: heldModel(held, hello) });

    expect(turn).toMatchObject({ outcome: 'cancelled', reason: 'cancelled' });
    expect(stop).toMatchObject({ running: ['model'], how: 'completed' });
    expect(target.of('reply')).toEqual([]);
  });
});

test('[P12] a re-read that is under way when the stop comes is named, and the effect stays in doubt', async () => {
  const held = new Held('finishes');
  const shop = new Shop();
  const { turn, stop, records } = await cancelled(held, {
    shop,
    changed: {
      cancel_order: {
        timeoutMs: 60_000,
        verify: {
          level: 'reread',
          read: async (_args, { signal }) => {
            await held.wait(signal);
            return {};
          },
          landed: () => 'pending',
        },
      },
    },
  });

  expect(turn).toMatchObject({ outcome: 'cancelled', reason: 'cancelled' });
  expect(stop).toMatchObject({ running: ['re-read of cancel_order (2.1)'], how: 'completed' });
  expect(await records.ledger('test/c1')).toMatchObject([{ status: 'applied' }]);
});

describe('[P12] [S4-33] a turn that is cancelled while what the model proposed is checked', () => {
  test.each(MANNERS)(
    '[S4-44] and the read for an approver %s: it is named, and nobody is asked any more',
    async (manner) => {
      const shop = new Shop();
      const held = new Held(manner);
      const { turn, stop, note, records, target, refunds } = await cancelled(held, {
        shop,
        approvalLimits: { EUR: 0 },
        changed: {
          issue_refund: {
            timeoutMs: 60_000,
            approvalState: async (_args, { signal }) => {
              await held.wait(signal);
              return { status: 'cancelled' };
            },
          },
        },
      });

      const { reason, how, words } = ENDINGS[manner];
      expect(turn).toMatchObject({ outcome: 'cancelled', reason, park: null });
      expect(stop).toMatchObject({ ...ANA, running: ['state for issue_refund (3.1)'], how });
      expect(note).toContain(`state for issue_refund (3.1) `);
      expect(note).toContain(words);
      expect([await records.pendingApprovals(), target.of('holding')]).toEqual([[], []]);
      expect(refunds()).toEqual([]);
      expect(await records.ledger('test/c1')).toMatchObject([{ status: 'verified' }]);
    },
  );
});

describe('[P12] [S4-33] a turn that is cancelled while it waits is woken and ends at once', () => {
  const nothing = { running: [], how: 'stopped' };

  test('[S3-33] for a re-read: what was sent stays in doubt in ledger, history and note', async () => {
    const stage = await openShop({ changed: SLOW_CANCELLATION });
    await stage.startHost();
    await stage.say('cancel my order');
    const waiting = await stage.parked();

    const asked = await stage.operator.cancel(waiting.turnId, ANA);
    await stage.target.arrived('note', 1);

    const [turn] = await stage.turns();
    expect([waiting.park.kind, asked.kind]).toEqual(['verification', 'requested']);
    expect(turn).toMatchObject({ outcome: 'cancelled', reason: 'cancelled' });
    expect(stopOf(turn)).toMatchObject({ ...ANA, ...nothing });
    expect(await stage.records.ledger('test/c1')).toMatchObject([{ status: 'applied' }]);
    expect(stage.target.of('note')[0]).toContain('Not certain: cancel_order order:1 applied');
    const tag = stage.store.tagOf('test/c1');
    expect(await stage.redis.lrange(`${tag}:hist:test/c1`, 0, -1)).toEqual([
      expect.stringContaining('cancelled (cancelled); cancel_order order:1 applied'),
    ]);
  });

  test('for a person: the request is withdrawn, and who approves after it is told so', async () => {
    const stage = await openShop({ approvalLimits: { EUR: 0 } });
    await stage.startHost();
    await stage.say('cancel my order');
    const waiting = await stage.parked();

    await stage.operator.cancel(waiting.turnId, ANA);
    await stage.target.arrived('note', 1);
    const late = await stage.operator.decideApproval(waiting.park.approvalId ?? '', 'approved', {
      by: 'bob',
    });

    expect(late).toMatchObject({ kind: 'already', status: 'cancelled' });
    expect(stopOf((await stage.turns())[0])).toMatchObject(nothing);
    expect(stage.refunds()).toEqual([]);
    expect(await stage.records.pendingApprovals()).toEqual([]);
  });

  test('for the model to be there again: it is not asked any more', async () => {
    let asked = 0;
    const stage = await openShop({
      policy: () => {
        asked += 1;
        return { kind: 'fails', failure: { kind: 'overloaded', retryAt: Date.now() + 3_600_000 } };
      },
      limits: { deadlineMs: 86_400_000 },
    });
    await stage.startHost();
    await stage.say('cancel my order');
    const waiting = await stage.parked();

    await stage.operator.cancel(waiting.turnId, ANA);
    await stage.target.arrived('note', 1);

    expect([waiting.park.kind, asked]).toEqual(['back_off', 1]);
    expect(stopOf((await stage.turns())[0])).toMatchObject(nothing);
  });
});

test('[P12] [S4-33] a turn that is cancelled while its account is limited ends at once, and its model was never asked', async () => {
  const views: View[] = [];
  const scripted = scriptedModel((view) => {
    views.push(view);
    return cancelThenRefund(view);
  });
  const stage = await openShop({ model: { ...scripted, account: 'acme' } });
  await stage.store.limitAccount('acme', Date.now() + 3_600_000);
  await stage.startHost();
  await stage.say('cancel my order');
  const waiting = await stage.parked();

  await stage.operator.cancel(waiting.turnId, ANA);
  await stage.target.arrived('note', 1);

  const [turn] = await stage.turns();
  expect(turn).toMatchObject({ outcome: 'cancelled', reason: 'cancelled' });
  expect(stopOf(turn)).toMatchObject({ ...ANA, running: [], how: 'stopped' });
  expect(views).toEqual([]);
});

describe('[P12] a stop', () => {
  test('after the end is told how the turn ended, and changes nothing', async () => {
    const stage = await openShop();
    await stage.startHost();
    await stage.say('cancel my order');
    await stage.target.arrived('reply', 1);
    const [before] = await stage.turns();

    const asked = await stage.operator.cancel(before?.turnId ?? '', ANA);

    expect(asked).toEqual({ kind: 'ended', outcome: 'completed', reason: 'replied' });
    expect(await stage.turns()).toEqual([before]);
    expect(await stage.operator.cancel('nope', ANA)).toEqual({ kind: 'not_found' });
  });

  test('asked for twice is one: who came first stands, and both are told the same', async () => {
    const shop = new Shop();
    const held = new Held('ignores');
    const stage = await openShop({
      shop,
      changed: { get_order: heldTool(shop, 'get_order', held) },
    });
    await stage.startHost();
    await stage.say('cancel my order');
    await held.begun;
    const id = await stage.openTurn();

    const first = await stage.operator.cancel(id, ANA);
    const second = await stage.operator.cancel(id, { by: 'bob', reason: 'me too' });
    await stage.target.arrived('note', 1);

    expect(second).toEqual({ ...first, kind: 'already' });
    expect(stopOf((await stage.turns())[0])).toMatchObject(ANA);
  });

  test('without a name or a reason is refused', async () => {
    const { operator } = await openShop();

    await expect(operator.cancel('t1', { by: ' ', reason: 'x' })).rejects.toThrow(/by/);
    await expect(operator.cancel('t1', { by: 'ana', reason: '' })).rejects.toThrow(/reason/);
  });

  test('that is never published is honoured at the next step all the same', async () => {
    const stage = await openShop();
    // Nobody hears of it; the record is what counts.
    stage.store.onStop = () => Promise.resolve({ close: () => {} });
    const turn = Promise.withResolvers<string>();
    const read = stage.shop.read.bind(stage.shop);
    const { operator } = stage;
    const get = stage.agent.tools.find(({ name }) => name === 'get_order');
    if (get === undefined) throw new Error('no tool');
    get.run = async () => {
      const id = await stage.openTurn();
      await operator.cancel(id, ANA);
      turn.resolve(id);
      return read('1');
    };
    await stage.startHost();
    await stage.say('cancel my order');
    await turn.promise;
    await stage.target.arrived('note', 1);

    const [ended] = await stage.turns();
    expect(ended).toMatchObject({ outcome: 'cancelled', reason: 'cancelled' });
    expect(stopOf(ended)).toMatchObject({ running: ['get_order (1.1)'], how: 'completed' });
    expect(stage.shop.calls).toEqual(['get 1']);
  });

  test('[S4-05] for a turn a closed worker left behind is heeded by the next one, which says what was open', async () => {
    const shop = new Shop();
    const held = new Held('ignores');
    const stage = await openShop({
      shop,
      changed: { cancel_order: heldTool(shop, 'cancel_order', held) },
    });
    const host = await stage.startHost();
    await stage.say('cancel my order');
    await held.begun;
    const id = await stage.openTurn();
    // It is told to end, and does not wait for the call longer than its grace.
    await host.close(1);

    const asked = await stage.operator.cancel(id, ANA);
    await stage.startHost();
    await stage.target.arrived('note', 1);

    const [turn] = await stage.turns();
    expect(asked).toMatchObject({ running: ['cancel_order (2.1)'] });
    expect(turn).toMatchObject({ outcome: 'cancelled', reason: 'force_terminated' });
    expect(stopOf(turn)).toMatchObject({ running: ['cancel_order (2.1)'], how: 'abandoned' });
    expect(await stage.records.ledger('test/c1')).toMatchObject([{ status: 'unknown' }]);
  });

  test('of one turn is none of the message queued behind it: that one goes to people, unseen by the model', async () => {
    const held = new Held('obeys');
    const looks: string[] = [];
    const { ask, ...model } = heldModel(held);
    const stage = await openShop({
      model: {
        ...model,
        ask: (view, call) => {
          looks.push(view.messages.map(({ text }) => text).join());
          return ask(view, call);
        },
      },
    });
    await stage.startHost();
    await stage.say('cancel my order');
    await held.begun;
    await stage.say('and the other one');

    await stage.operator.cancel(await stage.openTurn(), ANA);
    await stage.target.arrived('note', 2);

    expect(await stage.turns()).toMatchObject([
      { outcome: 'cancelled', messages: [{ text: 'cancel my order' }] },
      { reason: 'human_takeover', messages: [{ text: 'and the other one' }] },
    ]);
    expect(looks).toEqual(['cancel my order']);
  });
});

test('[S4-33] a conversation next to it goes on', async () => {
  const held = new Held('obeys');
  const scripted = scriptedModel(cancelThenRefund);
  const stopped = heldModel(held);
  const stage = await openShop({
    model: {
      ...scripted,
      ask: (view, call) =>
        (view.messages[0]?.text === 'other' ? scripted : stopped).ask(view, call),
    },
  });
  await stage.startHost();
  await stage.say('cancel my order');
  await held.begun;
  await stage.operator.cancel(await stage.openTurn(), ANA);
  await stage.target.arrived('note', 1);
  await stage.accept({
    ...{
      source: 'test',
      conversationId: 'c2',
      messageId: 'm1',
      text: 'other',
      subject: 'My order 1',
    },
    requester: { id: 'ana@example.com', assurance: 'verified' },
  });
  await stage.target.arrived('reply', 1);

  expect(stage.refunds()).toHaveLength(1);
});
