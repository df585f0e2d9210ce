import pino from 'pino';
import { describe, expect, test } from 'vitest';
import type { ProposalInput, SendResult } from '../../src/contracts/index.ts';
import { scriptedModel } from '../../src/models/index.ts';
import { childJobId } from '../../src/producers/index.ts';
import { Reconciler } from '../../src/workers/index.ts';
import { MemoryTarget, silent, startRig, ticket } from '../support/rig.ts';
import { Shop, shopTools } from '../support/shop.ts';
import { cancelThenRefund } from '../support/cancel-then-refund.ts';

const ok: ProposalInput = { kind: 'finish_candidate', reply: 'ok' };

type Rig = Awaited<ReturnType<typeof startRig>>;

function reconciler(rig: Rig): Reconciler {
  return new Reconciler({ store: rig.store, queues: rig.queues, logger: silent, intervalMs: 100 });
}

describe('the reconciler', () => {
  test('[P1] a message whose wake-up was lost is answered all the same', async () => {
    const clock = { offsetMs: 0 };
    const rig = await startRig({
      model: scriptedModel(() => ok),
      store: { clockOffsetMs: () => clock.offsetMs },
      host: { reconcileEveryMs: 3_600_000 },
    });
    await rig.startHost();
    await rig.store.acceptMessage(ticket());

    expect(await reconciler(rig).tick()).toBe(0);
    clock.offsetMs = 16_000;
    expect(await reconciler(rig).tick()).toBe(1);
    await rig.target.arrived('reply', 1);
  });

  test('a deduplication key whose job is gone does not make a conversation deaf', async () => {
    const clock = { offsetMs: 0 };
    const rig = await startRig({
      model: scriptedModel(() => ok),
      store: { clockOffsetMs: () => clock.offsetMs },
      host: { reconcileEveryMs: 3_600_000 },
    });
    await rig.accept(ticket());
    const queue = rig.queues.of('turns', 'test/c1');
    const job = await queue.getDeduplicationJobId('test/c1');
    await rig.redis.del(`${rig.store.tagOf('test/c1')}:turns:${job}`);
    await rig.redis.del(`${rig.store.tagOf('test/c1')}:turns:wait`);
    await rig.startHost();
    await rig.accept(ticket());

    clock.offsetMs = 16_000;
    await reconciler(rig).tick();
    await rig.target.arrived('reply', 2);
  });

  test('a reply whose wake-up was lost goes out all the same', async () => {
    const clock = { offsetMs: 0 };
    const rig = await startRig({
      model: scriptedModel(() => ok),
      store: { clockOffsetMs: () => clock.offsetMs },
      host: { reconcileEveryMs: 3_600_000 },
    });
    rig.queues.poke = new Proxy(rig.queues.poke, {
      apply: (poke, self, args: Parameters<Rig['queues']['poke']>) =>
        args[0] === 'deliveries' && clock.offsetMs === 0
          ? Promise.reject(new Error('lost'))
          : Reflect.apply(poke, self, args),
    });
    const { promise: committed, resolve } = Promise.withResolvers<void>();
    await rig.startHost({ onTrace: () => resolve() });
    await rig.accept(ticket());
    await committed;

    clock.offsetMs = 16_000;
    await reconciler(rig).tick();
    await rig.target.arrived('reply', 1);
  });

  test('a parked turn whose child went missing is woken all the same', async () => {
    const clock = { offsetMs: 0 };
    const shop = new Shop();
    shop.add({ id: '1' });
    const { promise: parked, resolve } = Promise.withResolvers<void>();
    const rig = await startRig({
      model: scriptedModel(cancelThenRefund),
      tools: shopTools(shop),
      approvalLimits: { EUR: 0 },
      store: { clockOffsetMs: () => clock.offsetMs },
      host: { reconcileEveryMs: 3_600_000 },
    });
    await rig.startHost({ onTrace: () => resolve() });
    await rig.accept(ticket());
    await parked;
    await rig.target.arrived('holding', 1);
    const waiting = await rig.store.parkedTurn('test/c1');
    if (waiting === undefined) throw new Error('not parked');
    const child = childJobId(waiting.turnId, waiting.park.number);
    const approvals = rig.queues.of('approvals', 'test/c1');
    const tag = rig.store.tagOf('test/c1');
    await rig.redis.del(`${tag}:approvals:${child}`);
    await rig.redis.zrem(`${tag}:approvals:delayed`, child);
    await rig.store.decideApproval(waiting.park.approvalId ?? '', 'approved', 'ana');

    clock.offsetMs = 20_000;
    await reconciler(rig).tick();
    await rig.target.arrived('reply', 1);

    expect(await approvals.getJobCountByTypes('delayed', 'wait')).toBe(0);
    expect(shop.effects.map(({ kind }) => kind)).toEqual(['cancel', 'refund']);
  });
});

describe('a worker that is lost in the middle of parking a turn', () => {
  /** The first child is added, but its worker does not get to wait for it: the job runs again. */
  async function interrupted(options: Parameters<typeof startRig>[0]) {
    const rig = await startRig(options);
    let interruptions = 0;
    rig.queues.addChild = new Proxy(rig.queues.addChild, {
      apply: async (addChild, self, args: Parameters<Rig['queues']['addChild']>) => {
        await Reflect.apply(addChild, self, args);
        interruptions += 1;
        if (interruptions === 1) throw new Error('lost');
      },
    });
    await rig.startHost();
    await rig.accept(ticket());
    return rig;
  }

  test('does not leave the turn waiting for an approval that was given', async () => {
    const shop = new Shop();
    shop.add({ id: '1' });
    const rig = await interrupted({
      model: scriptedModel(cancelThenRefund),
      tools: shopTools(shop),
      approvalLimits: { EUR: 0 },
    });
    await rig.target.arrived('holding', 1);
    const turns = rig.queues.of('turns', 'test/c1');
    while ((await turns.getJobCountByTypes('waiting-children')) === 0);
    const [approval] = await rig.records.pendingApprovals();
    await rig.store.decideApproval(approval?.id ?? '', 'approved', 'ana');
    const parked = await rig.store.parkedTurn('test/c1');
    if (parked === undefined) throw new Error('not parked');
    await rig.queues.hurry(
      { conversationId: 'test/c1', turnId: parked.turnId, park: parked.park.number },
      'approval',
    );
    await rig.target.arrived('reply', 1);

    expect(parked.park.number).toBe(1);
    expect(shop.effects.map(({ kind }) => kind)).toEqual(['cancel', 'refund']);
  });

  test('does not leave it waiting for a re-read nobody makes', async () => {
    const shop = new Shop();
    shop.add({ id: '1' });
    shop.settleReads = 2;
    const rig = await interrupted({
      model: scriptedModel(cancelThenRefund),
      tools: shopTools(shop),
      approvalLimits: { EUR: 5_000 },
    });
    await rig.target.arrived('reply', 1);

    expect(shop.effects.map(({ kind }) => kind)).toEqual(['cancel', 'refund']);
  });
});

test('a child that nobody waits for any more is taken off its parent by the reconciler', async () => {
  const clock = { offsetMs: 0 };
  const shop = new Shop();
  shop.add({ id: '1' });
  const rig = await startRig({
    model: scriptedModel(cancelThenRefund),
    tools: shopTools(shop),
    approvalLimits: { EUR: 0 },
    store: { clockOffsetMs: () => clock.offsetMs },
    host: { reconcileEveryMs: 3_600_000 },
  });
  const { addChild } = rig.queues;
  rig.queues.addChild = async (parent, waiting, park) => {
    await addChild.call(rig.queues, parent, waiting, { ...park, number: 7 });
    await addChild.call(rig.queues, parent, waiting, park);
  };
  await rig.startHost();
  await rig.accept(ticket());
  await rig.target.arrived('holding', 1);
  const turns = rig.queues.of('turns', 'test/c1');
  while ((await turns.getJobCountByTypes('waiting-children')) === 0);
  const [approval] = await rig.records.pendingApprovals();
  await rig.store.decideApproval(approval?.id ?? '', 'approved', 'ana');

  clock.offsetMs = 5_000;
  await reconciler(rig).tick();
  await rig.target.arrived('reply', 1);

  expect(shop.effects.map(({ kind }) => kind)).toEqual(['cancel', 'refund']);
});

describe('a turn nobody gets through', () => {
  test('[S3-19] [P3] [P8] is kept back, tried again and at last given up as failed/internal, while others go on and the log says why', async () => {
    const clock = { offsetMs: 0 };
    const logged: Record<string, unknown>[] = [];
    const logger = pino(
      { level: 'error' },
      { write: (line) => void logged.push(JSON.parse(line) as Record<string, unknown>) },
    );
    let tries = 0;
    const rig = await startRig({
      model: scriptedModel((view) => {
        if (view.messages[0]?.text !== 'poison') return ok;
        tries += 1;
        throw new Error('boom');
      }),
      store: { clockOffsetMs: () => clock.offsetMs },
      host: { concurrency: 1, logger },
      limits: { deadlineMs: 1_000_000_000 },
    });
    await rig.startHost();

    await rig.accept(ticket({ text: 'poison' }));
    await rig.accept(ticket({ conversationId: 'c2', text: 'fine' }));
    await rig.target.when(() => rig.target.of('reply', 'c2').length === 1);
    const turns = rig.queues.of('turns', 'test/c1');
    while (rig.target.of('note', 'c1').length === 0) {
      // It is kept back ever longer: the clock jumps over the wait.
      clock.offsetMs += 60_000;
      for (const job of await turns.getDelayed()) await job.promote().catch(() => {});
    }

    expect(tries).toBe(10);
    const [turn] = await rig.records.turnsOf('test/c1');
    expect(turn).toMatchObject({ outcome: 'failed', reason: 'internal' });
    const told = { turnId: turn?.turnId, msg: 'turn stuck', err: { message: 'boom' } };
    expect(logged).toMatchObject(Array.from({ length: tries }, () => told));
  });
});

describe('the delivery worker', () => {
  class FlakyTarget extends MemoryTarget {
    readonly answers: SendResult['kind'][];
    sends = 0;
    finds = 0;

    constructor(...answers: SendResult['kind'][]) {
      super();
      this.answers = answers;
    }

    override async send(message: Parameters<MemoryTarget['send']>[0]): Promise<never> {
      this.sends += 1;
      const answer = this.answers.shift() ?? 'sent';
      if (answer === 'not_sent') return { kind: answer, reason: 'down' } as never;
      if (answer === 'refused') return { kind: answer, reason: 'closed' } as never;
      const sent = await super.send(message);
      return (answer === 'unknown' ? { kind: answer, reason: 'lost' } : sent) as never;
    }

    override find(message: Parameters<MemoryTarget['find']>[0]) {
      this.finds += 1;
      return super.find(message);
    }
  }

  async function replyThrough(target: FlakyTarget) {
    const rig = await startRig({
      model: scriptedModel(() => ok),
      target,
      host: { sendTimeoutMs: 150, reconcileEveryMs: 50 },
      store: { slackMs: 50 },
    });
    await rig.startHost();
    await rig.accept(ticket());
    return rig;
  }

  async function settledDelivery(rig: Rig): Promise<string> {
    const tag = rig.store.tagOf('test/c1');
    for (;;) {
      const [name] = await rig.redis.keys(`${tag.replaceAll(/[{}]/g, String.raw`\$&`)}:delivery:*`);
      const status = name === undefined ? null : await rig.redis.hget(name, 'status');
      if (status !== null && status !== 'pending' && status !== 'sending') return status;
    }
  }

  test('[P14] a reply whose answer got lost is looked up, not sent again', async () => {
    const target = new FlakyTarget('unknown');
    const rig = await replyThrough(target);

    expect(await settledDelivery(rig)).toBe('sent');
    expect([target.sends, target.of('reply').length]).toEqual([1, 1]);
    expect(target.finds).toBeGreaterThanOrEqual(1);
  });

  test('[P1] a reply that certainly did not arrive is sent again', async () => {
    const target = new FlakyTarget('not_sent', 'not_sent');
    const rig = await replyThrough(target);

    expect(await settledDelivery(rig)).toBe('sent');
    expect([target.sends, target.of('reply').length]).toEqual([3, 1]);
  });

  test('a reply the target refuses is left for an operator', async () => {
    const rig = await replyThrough(new FlakyTarget('refused'));

    expect(await settledDelivery(rig)).toBe('unknown');
  });
});

describe('shutting down', () => {
  test('[S4-05] a worker that is told to stop finishes its turn and hands the rest over', async () => {
    const { promise: running, resolve: isRunning } = Promise.withResolvers<void>();
    const { promise: goOn, resolve: release } = Promise.withResolvers<void>();
    const rig = await startRig({
      model: scriptedModel(async (view) => {
        if (view.messages[0]?.text === 'first') {
          isRunning();
          await goOn;
        }
        return ok;
      }),
    });
    const host = await rig.startHost();
    await rig.accept(ticket({ text: 'first' }));
    await running;
    await rig.accept(ticket({ text: 'second' }));

    const closed = host.close();
    release();
    await closed;
    const turns = await rig.records.turnsOf('test/c1');
    await rig.startHost();
    await rig.target.arrived('reply', 2);

    expect(turns).toMatchObject([{ messages: [{ text: 'first' }], outcome: 'completed' }]);
  });
});
