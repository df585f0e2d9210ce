import { describe, expect, test } from 'vitest';
import type { View } from '../../src/loop/index.ts';
import { scriptedModel, type ScriptedAnswer } from '../../src/models/index.ts';
import { cancelThenRefund } from '../support/cancel-then-refund.ts';
import { ticket } from '../support/rig.ts';
import { Shop } from '../support/shop.ts';
import {
  cancellationWhen,
  DAY,
  Held,
  heldTool,
  HOUR,
  openShop,
  stopOf,
  Time,
  type ShopOptions,
} from './waiting-shop.ts';

const PHASES = ['awaiting_verification', 'awaiting_approval', 'backing_off'] as const;
type ParkedPhase = (typeof PHASES)[number];
/** Its account is limited: the model was not even asked. */
const KEPT_OFF = 'backing_off, kept off its model,';

/** A turn that waits in a phase, and what ends its wait in the ordinary way. */
async function waitingIn(phase: ParkedPhase | typeof KEPT_OFF, options: ShopOptions = {}) {
  const time = new Time();
  const account = 'acme';
  const world = { landed: phase !== 'awaiting_verification', busy: phase === 'backing_off' };
  const retryAt = (): number => Date.now() + time.offsetMs + HOUR;
  const stage = await openShop({
    policy: (view: View): ScriptedAnswer =>
      world.busy
        ? { kind: 'fails', failure: { kind: 'overloaded', retryAt: retryAt() } }
        : cancelThenRefund(view),
    changed: cancellationWhen(() => world.landed),
    approvalLimits: { EUR: phase === 'awaiting_approval' ? 0 : 5_000 },
    limits: { deadlineMs: 10 * DAY },
    store: time.store,
    ...(phase === KEPT_OFF ? { model: { ...scriptedModel(cancelThenRefund), account } } : {}),
    ...options,
  });
  if (phase === KEPT_OFF) await stage.store.limitAccount(account, retryAt());
  await stage.startHost();
  await stage.say('cancel my order');
  const waiting = await stage.parked();
  /** What it waited for happens. */
  const goOn = async (): Promise<void> => {
    world.landed = true;
    world.busy = false;
    const [approval] = await stage.records.pendingApprovals();
    if (approval === undefined) return time.pass(stage, HOUR + 1);
    await stage.operator.decideApproval(approval.id, 'approved', { by: 'ana' });
  };
  const cancels = (): number => stage.shop.calls.filter((call) => call === 'cancel 1').length;
  return { ...stage, time, world, waiting, goOn, cancels };
}

describe.each([...PHASES, KEPT_OFF] as const)(
  '[P1] [P2] a further message while the turn is %s, buffered',
  (phase) => {
    test('lies behind it, wakes nobody, and is answered by the next turn', async () => {
      const { say, store, waiting, goOn, records, target, turns, ...stage } =
        await waitingIn(phase);

      const accepted = await say('any news?');
      const [blocked] = await records.blocked();
      const still = await store.parkedTurn('test/c1');
      await goOn();
      await target.arrived('reply', 1);
      await target.when(() => target.sent.length >= (phase === 'awaiting_approval' ? 3 : 2));

      expect(accepted.superseded).toBeUndefined();
      const [name = ''] = phase.split(',');
      expect(blocked).toMatchObject({ turnId: waiting.turnId, behind: 1, phase: name });
      expect(still).toMatchObject({ turnId: waiting.turnId, woken: false });
      const [first, second] = await turns();
      expect(first).toMatchObject({ reason: 'replied', messages: [{ text: 'cancel my order' }] });
      expect(second?.messages.map(({ text }) => text)).toEqual(['any news?']);
      expect(second?.events[0]).not.toMatchObject({ intent: first?.state.intent });
      expect(stopOf(first)).toBeUndefined();
      expect(stage.refunds()).toHaveLength(1);
    });
  },
);

describe('a further message of the same person ends a turn that waits, where the agent says so', () => {
  const supersede = { whileWaiting: 'supersede' } as const;

  /** The customer writes while the model thinks of what a person must agree to. */
  async function writtenBeforeTheWait(who: string) {
    const say = Promise.withResolvers<(text: string, who: string) => Promise<unknown>>();
    let written = false;
    const stage = await openShop({
      ...supersede,
      approvalLimits: { EUR: 0 },
      async policy(view) {
        const answer = cancelThenRefund(view);
        if (!written && JSON.stringify(answer).includes('issue_refund')) {
          written = true;
          await (
            await say.promise
          )('and hurry', who);
        }
        return answer;
      },
    });
    say.resolve(stage.say);
    await stage.startHost();
    await stage.say('cancel my order');
    await stage.target.arrived('holding', 1);
    const waiting = await stage.parked();
    return { ...stage, waiting };
  }

  test('also when it came just before the wait: nobody is asked for the turn that it ends', async () => {
    const { turns, waiting, records, target } = await writtenBeforeTheWait('ana@example.com');

    const [first, second] = await turns();
    expect(first).toMatchObject({ outcome: 'cancelled', reason: 'superseded' });
    expect(first?.events.map(({ type }) => type)).not.toContain('turn_parked');
    expect(waiting.turnId).toBe(second?.turnId);
    expect(second?.messages.map(({ text }) => text)).toEqual(['cancel my order', 'and hurry']);
    expect(await records.pendingApprovals()).toHaveLength(1);
    expect(target.of('holding')).toHaveLength(1);
  });

  test('not when somebody else wrote it: the turn waits, and the message lies behind it', async () => {
    const { turns, waiting, records } = await writtenBeforeTheWait('ben@example.com');

    const [only] = await turns();
    expect(waiting.turnId).toBe(only?.turnId);
    expect(only?.outcome).toBeNull();
    expect(await records.blocked()).toMatchObject([{ turnId: only?.turnId, behind: 1 }]);
  });

  test('[P4] for a person: the request is withdrawn; one turn answers both, and what was done is not done again', async () => {
    const { say, waiting, records, target, turns, cancels, refunds, parked, operator } =
      await waitingIn('awaiting_approval', supersede);

    const accepted = await say('and hurry');
    await target.arrived('holding', 2);
    const again = await parked();
    const [asked] = await records.pendingApprovals();
    await operator.decideApproval(asked?.id ?? '', 'approved', { by: 'ana' });
    await target.arrived('reply', 1);

    expect(accepted.superseded).toBe(waiting.turnId);
    const [first, second] = await turns();
    expect(first).toMatchObject({ outcome: 'cancelled', reason: 'superseded' });
    expect(stopOf(first)).toMatchObject({ cause: 'superseded', running: [], how: 'stopped' });
    expect((await records.approval(waiting.park.approvalId ?? ''))?.status).toBe('cancelled');
    expect(again.turnId).toBe(second?.turnId);
    expect(second?.messages.map(({ text }) => text)).toEqual(['cancel my order', 'and hurry']);
    expect(second?.state.intent).toBe(first?.state.intent);
    expect([cancels(), refunds().length]).toEqual([1, 1]);
    expect([target.of('reply').length, target.of('note'), target.of('handover')]).toEqual([
      ...[1, []],
      [],
    ]);
  });

  test('[P4] for a re-read: it settles what it sent first, and only then the next turn starts', async () => {
    const { say, waiting, store, target, turns, cancels, refunds, goOn, records } = await waitingIn(
      'awaiting_verification',
      supersede,
    );

    const accepted = await say('and hurry');
    const [before] = await turns();
    const still = await store.parkedTurn('test/c1');
    await goOn();
    await target.arrived('reply', 1);

    // Nothing to wake: it goes on when it knows how the cancellation came out.
    expect(accepted.superseded).toBeUndefined();
    expect(before?.outcome).toBeNull();
    expect(still).toMatchObject({ turnId: waiting.turnId, woken: false });
    const [first, second] = await turns();
    expect(first).toMatchObject({ outcome: 'cancelled', reason: 'superseded' });
    const kinds = first?.events.map(({ type }) => type) ?? [];
    expect(kinds.indexOf('stop_requested')).toBeGreaterThan(kinds.lastIndexOf('verification_read'));
    expect(second?.startedAt).toBeGreaterThanOrEqual(first?.endedAt ?? Infinity);
    expect(second?.messages).toHaveLength(2);
    expect(second?.state.intent).toBe(first?.state.intent);
    expect([cancels(), refunds().length]).toEqual([1, 1]);
    expect((await records.ledger('test/c1')).map(({ status }) => status)).toEqual([
      'verified',
      'verified',
    ]);
  });

  test('[P5] what it sent cannot be proven: people take over, with the effect in doubt, and nothing is tried again', async () => {
    const world = { landed: false };
    const time = new Time();
    const stage = await openShop({
      ...supersede,
      changed: cancellationWhen(() => world.landed, { attempts: 2 }),
      limits: { deadlineMs: 10 * DAY },
      store: time.store,
    });
    await stage.startHost();
    await stage.say('cancel my order');
    await stage.parked();

    await stage.say('and hurry');
    await time.pass(stage, HOUR + 1);
    await stage.target.arrived('note', 2);

    const [first, second] = await stage.turns();
    expect(first).toMatchObject({ outcome: 'escalated', reason: 'verification_failed' });
    expect(second).toMatchObject({ reason: 'human_takeover', messages: [{ text: 'and hurry' }] });
    expect(stage.shop.calls.filter((call) => call === 'cancel 1')).toHaveLength(1);
  });

  test('for the model to be there again: both are answered by one turn', async () => {
    const { say, world, target, turns, waiting } = await waitingIn('backing_off', supersede);
    world.busy = false;

    const accepted = await say('and hurry');
    await target.arrived('reply', 1);

    expect(accepted.superseded).toBe(waiting.turnId);
    const [first, second] = await turns();
    expect(first?.reason).toBe('superseded');
    expect(second).toMatchObject({
      reason: 'replied',
      messages: [{ text: 'cancel my order' }, { text: 'and hurry' }],
    });
    expect(target.of('reply')).toHaveLength(1);
  });

  test('for its account to be free again: both are answered by one turn, and nobody asks before that', async () => {
    const { say, time, target, turns, waiting, parked, ...stage } = await waitingIn(
      KEPT_OFF,
      supersede,
    );

    const accepted = await say('and hurry');
    let next = await parked();
    while (next.turnId === waiting.turnId) next = await parked();
    const asked = (await turns()).flatMap(({ events }) =>
      events.filter(({ type }) => type === 'model_responded'),
    );
    await time.pass(stage, HOUR + 1);
    await target.arrived('reply', 1);

    expect(accepted.superseded).toBe(waiting.turnId);
    expect(next.park).toMatchObject({ kind: 'back_off', dueAt: waiting.park.dueAt });
    expect(asked).toEqual([]);
    const [first, second] = await turns();
    expect(first?.reason).toBe('superseded');
    expect(second).toMatchObject({
      reason: 'replied',
      messages: [{ text: 'cancel my order' }, { text: 'and hurry' }],
    });
    expect(stage.refunds()).toHaveLength(1);
  });

  test.each([
    ['another person', { id: 'bob@example.com', assurance: 'verified' }],
    ['somebody who only claims to be her', { id: 'ana@example.com', assurance: 'claimed' }],
  ] as const)('not so the message of %s: it lies behind', async (_who, requester) => {
    const { accept, waiting, store, target, turns, goOn } = await waitingIn(
      'awaiting_approval',
      supersede,
    );

    const accepted = await accept(ticket({ text: 'me too', requester }));
    const still = await store.parkedTurn('test/c1');
    await goOn();
    await target.arrived('reply', 1);
    await target.when(() => target.sent.length >= 3);

    expect(accepted.superseded).toBeUndefined();
    expect(still).toMatchObject({ turnId: waiting.turnId, woken: false });
    const [first, second] = await turns();
    expect(first).toMatchObject({ reason: 'replied', messages: [{ text: 'cancel my order' }] });
    expect(second?.messages.map(({ text }) => text)).toEqual(['me too']);
  });

  test('[P2] messages of others keep their place behind the two that belong together', async () => {
    const { say, target, turns, world } = await waitingIn('backing_off', supersede);
    await say('me too', 'bob@example.com');
    world.busy = false;

    await say('and hurry');
    await target.arrived('reply', 1);
    await target.when(() => target.sent.length >= 3);

    expect((await turns()).map(({ messages }) => messages.map(({ text }) => text))).toEqual([
      ['cancel my order'],
      ['cancel my order'],
      ['me too'],
      ['and hurry'],
    ]);
  });

  test('not so a turn that is at work: it is not interrupted by the customer', async () => {
    const shop = new Shop();
    const held = new Held('finishes');
    const stage = await openShop({
      ...supersede,
      shop,
      changed: { get_order: { ...heldTool(shop, 'get_order', held), timeoutMs: 200 } },
    });
    await stage.startHost();
    await stage.say('cancel my order');
    await held.begun;

    const accepted = await stage.say('and hurry');
    await stage.target.when(() => stage.target.sent.length >= 1);

    expect(accepted.superseded).toBeUndefined();
    expect(stopOf((await stage.turns())[0])).toBeUndefined();
  });
});
