import { describe, expect, test } from 'vitest';
import type { ModelFailureKind } from '../../src/contracts/index.ts';
import { scriptedModel, type ScriptedAnswer } from '../../src/models/index.ts';
import { cancelThenRefund } from '../support/cancel-then-refund.ts';
import { ticket } from '../support/rig.ts';
import { DAY, HOUR, openShop, Time, type ShopOptions } from './waiting-shop.ts';

const hello: ScriptedAnswer = { kind: 'finish_candidate', reply: 'Hello.' };

/** A model whose account is limited by the first message that says so. */
async function limitedBy(
  kind: ModelFailureKind,
  { account = 'acme', ...options }: ShopOptions & { account?: string | null } = {},
) {
  const time = new Time();
  const now = (): number => Date.now() + time.offsetMs;
  const retryAt = now() + HOUR;
  const asked: string[] = [];
  const model = scriptedModel((view) => {
    const text = view.messages[0]?.text ?? '';
    asked.push(text);
    return text === 'first' && now() < retryAt
      ? { kind: 'fails', failure: { kind, retryAt } }
      : hello;
  });
  const stage = await openShop({
    model: account === null ? model : { ...model, account },
    limits: { deadlineMs: DAY, modelFailures: 2 },
    store: time.store,
    ...options,
  });
  await stage.startHost();
  const write = (conversationId: string, text: string) =>
    stage.accept(ticket({ conversationId, text }));
  await write('c1', 'first');
  await stage.parked('test/c1');
  return { ...stage, time, retryAt, asked, write };
}

describe('a model call that was turned away because its account is limited', () => {
  test.each(['rate_limited', 'concurrency_limited', 'quota_exhausted'] as const)(
    '[P8] %s: other turns do not ask before that is over, and do not count it as a failure of the model',
    async (kind) => {
      const { write, parked, records, asked, retryAt, target, time, ...stage } =
        await limitedBy(kind);

      await write('c2', 'second');
      const waiting = await parked('test/c2');
      const [turn] = await records.turnsOf('test/c2');

      expect(asked).toEqual(['first']);
      expect(waiting.park).toMatchObject({ kind: 'back_off', dueAt: retryAt });
      expect(turn?.state).toMatchObject({ modelFailures: 0, phase: 'backing_off' });
      expect(turn?.state.spent).toMatchObject({ tokens: 0, costMicros: 0 });
      expect(turn?.events.filter(({ type }) => type === 'model_failed')).toMatchObject([
        { failure: { kind: 'account_limited', retryAt }, latencyMs: 0 },
      ]);
      await time.pass({ ...stage }, HOUR + 1, 'test/c1');
      await time.pass({ ...stage }, 0, 'test/c2');
      await target.arrived('reply', 2);
      expect(asked.toSorted()).toEqual(['first', 'first', 'second']);
    },
  );

  test('[P8] being kept off ends no turn, however few failures of the model it may have', async () => {
    const time = new Time();
    const stage = await openShop({
      model: { ...scriptedModel(() => hello), account: 'acme' },
      limits: { deadlineMs: DAY, modelFailures: 1 },
      store: time.store,
    });
    const until = Date.now() + HOUR;
    await stage.store.limitAccount('acme', until);
    await stage.startHost();
    await stage.say('hi');
    const first = await stage.parked();

    // Whoever asked next was told to wait longer; an earlier end does not take that back.
    await stage.store.limitAccount('acme', until + HOUR);
    await stage.store.limitAccount('acme', until + 1);
    await time.pass(stage, HOUR + 1);
    let second = await stage.parked();
    while (second.park.number === first.park.number) second = await stage.parked();
    await time.pass(stage, HOUR + 1);
    await stage.target.arrived('reply', 1);

    expect([first.park.dueAt, second.park.dueAt]).toEqual([until, until + HOUR]);
    expect(await stage.turns()).toMatchObject([{ reason: 'replied' }]);
  });

  test('a turn that is at work meets the limit before its next call, and has its results when it goes on', async () => {
    const time = new Time();
    const account = 'acme';
    const views: number[] = [];
    const scripted = scriptedModel((view) => {
      views.push(view.rounds.length);
      return cancelThenRefund(view);
    });
    const stage = await openShop({
      model: { ...scripted, account },
      limits: { deadlineMs: DAY },
      store: time.store,
    });
    const until = Date.now() + HOUR;
    const get = stage.agent.tools.find(({ name }) => name === 'get_order');
    if (get === undefined) throw new Error('no tool');
    const { run } = get;
    get.run = async (args, context) => {
      await stage.store.limitAccount(account, until);
      return run(args, context);
    };
    await stage.startHost();
    await stage.say('cancel my order');
    const waiting = await stage.parked();
    const before = [...views];
    await time.pass(stage, HOUR + 1);
    await stage.target.arrived('reply', 1);

    expect(waiting.park).toMatchObject({ kind: 'back_off', dueAt: until });
    expect([before, views]).toEqual([[0], [0, 1, 2, 3]]);
    expect(stage.shop.calls.filter((call) => call === 'get 1')).toHaveLength(2);
    expect(stage.refunds()).toHaveLength(1);
  });

  test.each([
    ['a model of another account', 'other'],
    ['a model that names no account', null],
  ])('is nothing to %s', async (_which, account) => {
    const time = new Time();
    const model = scriptedModel(() => hello);
    const stage = await openShop({
      model: account === null ? model : { ...model, account },
      store: time.store,
    });
    await stage.store.limitAccount('acme', Date.now() + HOUR);
    await stage.startHost();

    await stage.say('hi');
    await stage.target.arrived('reply', 1);
  });

  test('without an account, and an overload of the provider, tell nobody else', async () => {
    const nameless = await limitedBy('rate_limited', { account: null });
    await nameless.write('c2', 'second');
    await nameless.target.arrived('reply', 1);
    const busy = await limitedBy('overloaded');
    await busy.write('c2', 'second');
    await busy.target.arrived('reply', 1);

    expect([nameless.asked, busy.asked]).toEqual([
      ['first', 'second'],
      ['first', 'second'],
    ]);
  });

  test('is known in every lane', async () => {
    const { write, records, asked, store } = await limitedBy('rate_limited', {
      store: { lanes: 4 },
    });
    const names = Array.from({ length: 8 }, (_, index) => `d${index}`);
    expect(new Set(names.map((name) => store.tagOf(`test/${name}`))).size).toBeGreaterThan(1);

    for (const name of names) await write(name, name);
    for (const name of names) {
      let limited = false;
      while (!limited) {
        const [turn] = await records.turnsOf(`test/${name}`);
        limited = turn?.phase === 'backing_off';
      }
    }

    expect(asked).toEqual(['first']);
  });
});
