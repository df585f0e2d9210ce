import { describe, expect, test } from 'vitest';
import type { EventOf } from '../../src/contracts/index.ts';
import type { ModelCall } from '../../src/loop/index.ts';
import { scriptedModel } from '../../src/models/index.ts';
import type { TurnRecord } from '../../src/store/records.ts';
import { cancelThenRefund } from '../support/cancel-then-refund.ts';
import { Shop, shopTools } from '../support/shop.ts';
import {
  DAY,
  Held,
  heldModel,
  heldTool,
  HOUR,
  openShop,
  Time,
  type ShopOptions,
} from './waiting-shop.ts';

const SILENCE_MS = 60;
const limits = { silenceMs: SILENCE_MS, deadlineMs: 10 * DAY };

/** Gives a sign for so many milliseconds, each well within the silence that is allowed. */
function signsFor(ms: number, call: Pick<ModelCall, 'heartbeat'>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const beat = setInterval(() => call.heartbeat(), SILENCE_MS / 6);
  setTimeout(() => {
    clearInterval(beat);
    resolve();
  }, ms);
  return promise;
}

async function ended(options: ShopOptions, time = new Time()) {
  const stage = await openShop({ limits, store: time.store, ...options });
  await stage.startHost();
  await stage.say('cancel my order');
  const over = (): boolean => stage.target.of('reply').length + stage.target.of('note').length > 0;
  while (!over()) {
    await stage.store.redis.ping();
    if ((await stage.store.parkedTurn('test/c1')) !== undefined) await time.pass(stage, HOUR);
  }
  const [turn] = await stage.turns();
  if (turn === undefined) throw new Error('no turn');
  return { ...stage, turn };
}

function of<T extends 'model_failed' | 'call_settled'>(turn: TurnRecord, type: T): EventOf<T>[] {
  return turn.events.filter((event): event is EventOf<T> & typeof event => event.type === type);
}

describe('[S0-53] a model that neither answers nor fails', () => {
  test.each([
    ['ends when told to', 'obeys', undefined],
    ['is left behind after its grace', 'ignores', true],
  ] as const)('%s: the turn ends timed_out/silence', async (_what, manner, abandoned) => {
    const held = new Held(manner);
    const { turn, target } = await ended({
      model: heldModel(held),
      limits: { ...limits, modelFailures: 1 },
    });

    expect(turn).toMatchObject({ outcome: 'timed_out', reason: 'silence' });
    const [failed] = of(turn, 'model_failed');
    expect(failed?.failure).toEqual({ kind: 'silence', ...(abandoned && { abandoned }) });
    expect(failed?.latencyMs).toBeGreaterThanOrEqual(SILENCE_MS - 5);
    expect(target.of('handover')).toHaveLength(1);
  });

  test('is asked again later, and the silence was one failure of it', async () => {
    const scripted = scriptedModel(() => ({ kind: 'finish_candidate', reply: 'Hello.' }));
    const held = new Held('obeys');
    let asked = 0;
    const { turn, target } = await ended({
      model: {
        ...scripted,
        async ask(view, call) {
          asked += 1;
          if (asked === 1) await held.wait(call.signal);
          return scripted.ask(view, call);
        },
      },
    });

    expect(turn.reason).toBe('replied');
    expect(of(turn, 'model_failed').map(({ failure }) => failure.kind)).toEqual(['silence']);
    expect(turn.events.some(({ type }) => type === 'turn_parked')).toBe(true);
    expect(target.of('reply')).toEqual(['Hello.']);
  });

  test('with a sign of life every now and then is heard to its end, however long it takes', async () => {
    const scripted = scriptedModel(() => ({ kind: 'finish_candidate', reply: 'Hello.' }));
    const { turn } = await ended({
      model: {
        ...scripted,
        async ask(view, call) {
          await signsFor(4 * SILENCE_MS, call);
          return scripted.ask(view, call);
        },
      },
    });

    expect(turn.reason).toBe('replied');
    expect(of(turn, 'model_failed')).toEqual([]);
  });

  test('and gives signs for ever runs into its time-out', async () => {
    const scripted = scriptedModel(cancelThenRefund);
    const { turn } = await ended({
      limits: { ...limits, modelTimeoutMs: 3 * SILENCE_MS, modelFailures: 1 },
      model: {
        ...scripted,
        async ask(view, call) {
          await Promise.race([
            signsFor(60 * SILENCE_MS, call),
            new Promise((_, reject) => {
              call.signal.addEventListener('abort', () => reject(new Error('told to end')));
            }),
          ]);
          return scripted.ask(view, call);
        },
      },
    });

    expect(turn).toMatchObject({ outcome: 'failed', reason: 'model_unavailable' });
    expect(of(turn, 'model_failed').map(({ failure }) => failure.kind)).toEqual(['timeout']);
  });
});

describe('[S0-53] a tool that neither answers nor fails', () => {
  test('and reads has failed, and the model may ask again', async () => {
    const shop = new Shop();
    shop.add({ id: '1' });
    const held = new Held('obeys');
    const { run } = heldTool(shop, 'get_order', held);
    let reads = 0;
    const { turn } = await ended({
      shop,
      changed: {
        get_order: {
          timeoutMs: 60_000,
          run: (args, context) => {
            reads += 1;
            return reads === 1 ? run?.(args, context) : Promise.resolve(shop.read('1'));
          },
        } as NonNullable<ShopOptions['changed']>[string],
      },
    });

    expect(of(turn, 'call_settled')[0]?.result).toMatchObject({
      ...{ kind: 'failed', code: 'silent', transient: true },
    });
    expect(turn.reason).toBe('replied');
  });

  test.each([
    ['ends when told to', 'obeys'],
    ['is left behind after its grace', 'ignores'],
  ] as const)(
    '[P5] and writes, and %s: the write is unknown, is read again, and never sent twice',
    async (_what, manner) => {
      const shop = new Shop();
      shop.add({ id: '1' });
      const held = new Held(manner);
      const { turn, records } = await ended({
        shop,
        changed: { cancel_order: heldTool(shop, 'cancel_order', held) },
      });

      const [, cancelled] = of(turn, 'call_settled');
      expect(cancelled?.result).toEqual({
        ...{ kind: 'unknown', code: 'silent' },
        message: expect.stringContaining('gave no answer'),
        ...(manner === 'ignores' ? { abandoned: true } : {}),
      });
      expect(turn.reason).toBe('replied');
      expect(shop.calls.filter((call) => call === 'cancel 1')).toHaveLength(1);
      expect(
        (await records.ledger('test/c1')).map(({ status, attempts }) => [status, attempts]),
      ).toEqual([
        ['verified', 1],
        ['verified', 1],
      ]);
    },
  );

  test('[P5] [P4] and was lost before it did anything: only once its validity is over may it be asked for again', async () => {
    const shop = new Shop();
    shop.add({ id: '1' });
    const time = new Time();
    shop.now = () => Date.now() + time.offsetMs;
    const keys: string[] = [];
    const held = new Held('ignores');
    const [, cancel] = shopTools(shop);
    const options: ShopOptions = {
      shop,
      changed: {
        cancel_order: {
          timeoutMs: 10_000,
          run: async (args, context) => {
            keys.push(context.operation);
            if (keys.length === 1) await held.wait(context.signal);
            return cancel?.run(args, context);
          },
        },
      },
    };
    const { turn, records } = await ended(options, time);

    expect(turn.reason).toBe('replied');
    expect(keys).toEqual([keys[0], keys[0]]);
    expect(shop.effects.map(({ kind }) => kind)).toEqual(['cancel', 'refund']);
    const reads = turn.events.filter((event) => event.type === 'verification_read');
    const first = turn.events.find(
      (event) => event.type === 'call_started' && event.callId === '2.1',
    );
    const validUntil = first?.type === 'call_started' ? (first.validUntil ?? Infinity) : Infinity;
    const lost = reads.findLast(({ callId }) => callId === '2.1');
    expect(lost?.read).toMatchObject({ verdict: 'not_landed' });
    expect(lost?.read.at).toBeGreaterThan(validUntil);
    expect((await records.ledger('test/c1'))[0]).toMatchObject({ status: 'verified', attempts: 2 });
  });

  test('with a sign of life every now and then is heard to its end', async () => {
    const shop = new Shop();
    shop.add({ id: '1' });
    const [, cancel] = shopTools(shop);
    const { turn } = await ended({
      shop,
      changed: {
        cancel_order: {
          timeoutMs: 60_000,
          run: async (args, context) => {
            await signsFor(4 * SILENCE_MS, context);
            return cancel?.run(args, context);
          },
        },
      },
    });

    expect(of(turn, 'call_settled').map(({ result }) => result.kind)).toEqual(['ok', 'ok', 'ok']);
  });

  test('while a change is read again is no proof: the read counts as unknown and is made again', async () => {
    const shop = new Shop();
    shop.add({ id: '1' });
    const held = new Held('ignores');
    let reads = 0;
    const { turn } = await ended({
      shop,
      changed: {
        cancel_order: {
          timeoutMs: 60_000,
          verify: {
            level: 'reread',
            read: async (_args, { signal }) => {
              reads += 1;
              if (reads === 1) await held.wait(signal);
              return shop.read('1');
            },
            landed: (order) =>
              (order as { status: string }).status === 'cancelled' ? 'landed' : 'pending',
          },
        },
      },
    });

    const read = turn.events.find((event) => event.type === 'verification_read');
    expect(read?.read).toMatchObject({
      ...{ verdict: 'unknown', failed: { code: 'silent', abandoned: true } },
    });
    expect(turn.reason).toBe('replied');
  });
});
