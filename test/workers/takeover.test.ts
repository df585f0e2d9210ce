import { describe, expect, test } from 'vitest';
import type { View } from '../../src/loop/index.ts';
import type { ScriptedAnswer } from '../../src/models/index.ts';
import { cancelThenRefund } from '../support/cancel-then-refund.ts';
import { MemoryTarget } from '../support/rig.ts';
import { Shop } from '../support/shop.ts';
import { Held, heldModel, heldTool, openShop, SLOW_CANCELLATION, stopOf } from './waiting-shop.ts';

const ANA = { by: 'ana', reason: 'angry customer' };

describe('[P13] after a takeover was stored nothing is started', () => {
  test('a call that was under way is listed, and nothing follows it', async () => {
    const shop = new Shop();
    const held = new Held('finishes');
    const stage = await openShop({
      shop,
      changed: { cancel_order: heldTool(shop, 'cancel_order', held) },
    });
    await stage.startHost();
    await stage.say('cancel my order');
    await held.begun;

    const taken = await stage.operator.takeOver('test/c1', ANA);
    await stage.target.arrived('note', 1);

    const [turn] = await stage.turns();
    expect(taken).toMatchObject({ kind: 'taken', turnId: turn?.turnId, waiting: 1 });
    expect(taken.running).toEqual(['cancel_order (2.1)']);
    expect(turn).toMatchObject({ outcome: 'escalated', reason: 'human_takeover' });
    expect(stopOf(turn)).toMatchObject({
      ...ANA,
      running: ['cancel_order (2.1)'],
      how: 'completed',
    });
    expect(shop.calls).toEqual(['get 1', 'cancel 1']);
    expect([stage.target.of('reply'), stage.target.of('handover')]).toEqual([[], []]);
    expect(stage.target.of('note')[0]).toContain('Not certain: cancel_order order:1 applied');
  });

  test('also by a job that was queued before it: the model never sees the message', async () => {
    const stage = await openShop();
    await stage.say('cancel my order');
    await stage.operator.takeOver('test/c1', ANA);

    await stage.startHost();
    await stage.target.arrived('note', 1);

    expect(await stage.turns()).toMatchObject([{ outcome: 'escalated', reason: 'human_takeover' }]);
    expect([stage.views, stage.shop.calls]).toEqual([[], []]);
  });

  test.each(['awaiting_verification', 'awaiting_approval', 'backing_off'] as const)(
    'a turn that is %s is woken, stops, and its wait leaves nothing behind',
    async (phase) => {
      const busy = (): ScriptedAnswer => ({
        kind: 'fails',
        failure: { kind: 'overloaded', retryAt: Date.now() + 3_600_000 },
      });
      const stage = await openShop({
        policy: phase === 'backing_off' ? busy : cancelThenRefund,
        approvalLimits: { EUR: 0 },
        ...(phase === 'awaiting_verification' ? { changed: SLOW_CANCELLATION } : {}),
      });
      await stage.startHost();
      await stage.say('cancel my order');
      await stage.parked();
      const calls = stage.shop.calls.length;

      const taken = await stage.operator.takeOver('test/c1', ANA);
      await stage.target.arrived('note', 1);

      const [turn] = await stage.turns();
      expect(taken.running).toEqual([]);
      expect(turn?.reason).toBe('human_takeover');
      expect(turn?.events.findLast(({ type }) => type === 'turn_parked')).toBeDefined();
      expect(stage.shop.calls).toHaveLength(calls);
      expect(await stage.records.pendingApprovals()).toEqual([]);
      expect(stage.refunds()).toEqual([]);
    },
  );

  test('an approval that is given after it moves nothing', async () => {
    const stage = await openShop({ approvalLimits: { EUR: 0 } });
    await stage.startHost();
    await stage.say('cancel my order');
    const { park } = await stage.parked();

    await stage.operator.takeOver('test/c1', ANA);
    await stage.target.arrived('note', 1);
    await stage.operator.decideApproval(park.approvalId ?? '', 'approved', { by: 'bob' });

    expect(stage.refunds()).toEqual([]);
  });

  test('a cancel that came first stands beside it: the turn is cancelled and the person has the conversation', async () => {
    const shop = new Shop();
    const held = new Held('ignores');
    const stage = await openShop({
      shop,
      changed: { get_order: heldTool(shop, 'get_order', held) },
    });
    await stage.startHost();
    await stage.say('cancel my order');
    await held.begun;

    await stage.operator.cancel(await stage.openTurn(), { by: 'bob', reason: 'wrong' });
    await stage.operator.takeOver('test/c1', ANA);
    await stage.target.arrived('note', 1);

    expect(await stage.turns()).toMatchObject([{ outcome: 'cancelled' }]);
    expect((await stage.records.conversation('test/c1'))?.holder).toMatchObject({
      ...{ owner: 'human', takenBy: 'ana' },
    });
  });
});

describe('[P13] messages behind a takeover', () => {
  test('end in one turn with one note, without a model call, and are all in the history', async () => {
    const shop = new Shop();
    const held = new Held('finishes');
    const stage = await openShop({
      shop,
      changed: { get_order: heldTool(shop, 'get_order', held) },
    });
    await stage.startHost();
    await stage.say('cancel my order');
    await held.begun;
    await stage.say('hello?');
    await stage.say('it is me, Bob', 'bob@example.com');
    await stage.say('hello??');

    const taken = await stage.operator.takeOver('test/c1', ANA);
    await stage.target.arrived('note', 2);

    const turns = await stage.turns();
    expect(taken.waiting).toBe(4);
    expect(turns).toHaveLength(2);
    expect(turns[1]).toMatchObject({ outcome: 'escalated', reason: 'human_takeover' });
    const behind = ['hello?', 'it is me, Bob', 'hello??'];
    expect(turns[1]?.messages.map(({ text }) => text)).toEqual(behind);
    expect(turns[1]?.events.map(({ type }) => type)).toEqual(['turn_started', 'turn_ended']);
    expect(stage.target.of('note')[1]).toContain(`Asked: ${behind.join(' / ')}`);
    expect(stage.views).toHaveLength(1);
  });

  test('that come later end the same way, and nothing waits for ever', async () => {
    const stage = await openShop();
    await stage.startHost();
    await stage.say('cancel my order');
    await stage.target.arrived('reply', 1);
    await stage.operator.takeOver('test/c1', ANA);

    await stage.say('and thanks');
    await stage.target.arrived('note', 1);

    expect((await stage.turns()).map(({ reason }) => reason)).toEqual([
      'replied',
      'human_takeover',
    ]);
    expect(await stage.records.conversation('test/c1')).toMatchObject({
      waiting: 0,
      openTurn: null,
    });
  });
});

describe('[P13] [P14] what the agent wanted to say', () => {
  /** A ticketing system that is not reached until it is let through. */
  class ClosedTarget extends MemoryTarget {
    open = false;
    readonly tried = Promise.withResolvers<void>();

    override send(message: Parameters<MemoryTarget['send']>[0]): ReturnType<MemoryTarget['send']> {
      if (this.open) return super.send(message);
      this.tried.resolve();
      return Promise.resolve({ kind: 'not_sent', reason: 'down' }) as never;
    }
  }

  test('and had not been sent is dropped; a note still goes out', async () => {
    const clock = { offsetMs: 0 };
    const target = new ClosedTarget();
    const stage = await openShop({
      target,
      policy: () => ({ kind: 'finish_candidate', reply: 'Hello.' }),
      store: { clockOffsetMs: () => clock.offsetMs, slackMs: 50 },
    });
    await stage.startHost();
    await stage.say('hi');
    await target.tried.promise;
    const [turn] = await stage.turns();

    await stage.operator.takeOver('test/c1', ANA);
    target.open = true;
    clock.offsetMs = 60_000;
    await stage.say('anybody?');
    await target.when(() => target.of('note').length > 0);

    expect(target.of('reply')).toEqual([]);
    expect(turn?.reason).toBe('replied');
    const left = await stage.redis.llen(`${stage.store.tagOf('test/c1')}:outbox:test/c1`);
    expect(left).toBeLessThanOrEqual(1);
  });

  test('while the model was thinking is not sent, and the turn does not count as answered', async () => {
    const held = new Held('finishes');
    const hello = (): ScriptedAnswer => ({ kind: 'finish_candidate', reply: 'Hello.' });
    const stage = await openShop({ model: heldModel(held, hello) });
    await stage.startHost();
    await stage.say('hi');
    await held.begun;

    await stage.operator.takeOver('test/c1', ANA);
    await stage.target.arrived('note', 1);

    expect(await stage.turns()).toMatchObject([{ outcome: 'escalated', reason: 'human_takeover' }]);
    expect(stage.target.of('reply')).toEqual([]);
  });
});

describe('[P13] a person who writes to the customer in public', () => {
  const message = { messageId: 'm77', text: 'I have refunded you by hand.' };
  const seen = (view: View | undefined) => view?.history.filter(({ kind }) => kind === 'human');

  test('has taken over, and the message is in the history once, however often it is delivered', async () => {
    const stage = await openShop({
      policy: () => ({ kind: 'finish_candidate', reply: 'Hello.' }),
    });
    await stage.startHost();
    await stage.say('hi');
    await stage.target.arrived('reply', 1);

    const first = await stage.operator.takeOver('test/c1', { ...ANA, message });
    const again = await stage.operator.takeOver('test/c1', { ...ANA, message });
    const other = { messageId: 'm78', text: 'Anything else?' };
    await stage.operator.takeOver('test/c1', { by: 'bob', reason: 'wrote', message: other });
    await stage.operator.release('test/c1', ANA);
    await stage.say('no, thanks');
    await stage.target.arrived('reply', 2);

    expect([first.kind, again.kind]).toEqual(['taken', 'already']);
    expect(seen(stage.views.at(-1))).toEqual([
      { kind: 'human', by: 'ana', text: message.text },
      { kind: 'human', by: 'bob', text: other.text },
    ]);
    expect(stage.views.at(-1)?.history.map(({ kind }) => kind)).toEqual(['turn', 'human', 'human']);
  });
});

describe('[P13] release', () => {
  test('gives the conversation back: the next message is answered by the agent, with what it knew', async () => {
    const stage = await openShop();
    await stage.startHost();
    await stage.say('cancel my order');
    await stage.target.arrived('reply', 1);
    await stage.operator.takeOver('test/c1', ANA);

    expect(await stage.operator.release('test/c1', ANA)).toBe('released');
    expect(await stage.operator.release('test/c1', ANA)).toBe('already');
    expect(await stage.operator.release('test/nobody', ANA)).toBe('not_found');
    await stage.say('is it done?');
    await stage.target.when(() => stage.target.sent.length > 1);

    const [, next] = await stage.turns();
    expect(next?.reason).not.toBe('human_takeover');
    expect(stage.views.at(-1)?.facts['order:1']).toMatchObject({ data: { status: 'cancelled' } });
    expect((await stage.records.conversation('test/c1'))?.holder).toMatchObject({ takenBy: null });
  });

  test('also gives back what the agent itself had handed over', async () => {
    const stage = await openShop({
      policy: (view) =>
        view.history.length === 0
          ? { kind: 'escalate', rationale: 'a person please' }
          : { kind: 'finish_candidate', reply: 'Hello again.' },
    });
    await stage.startHost();
    await stage.say('hi');
    await stage.target.arrived('note', 1);
    const holder = (await stage.records.conversation('test/c1'))?.holder;

    const released = await stage.operator.release('test/c1', ANA);
    await stage.say('back?');
    await stage.target.arrived('reply', 1);

    expect(holder).toMatchObject({ owner: 'human', takenBy: null });
    expect(released).toBe('released');
  });
});
