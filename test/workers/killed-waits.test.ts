import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Approval } from '../../src/contracts/index.ts';
import { acceptMessage } from '../../src/producers/index.ts';
import { Operator } from '../../src/producers/operator.ts';
import type { ApprovalAnswer } from '../../src/store/index.ts';
import { key } from '../../src/store/keys.ts';
import type { TurnRecord } from '../../src/store/records.ts';
import { until } from '../crash/acts.ts';
import { scenarioSize } from '../crash/settings.ts';
import { Stage } from '../crash/stage.ts';
import { stopOf } from './waiting-shop.ts';

// Real worker processes that are killed with SIGKILL, and people who act on what waited then.

const CASES = [
  ...['approved', 'rejected', 'cancelled', 'taken', 'expired', 'changed', 'behind'],
  ...['reread', 'underWay'],
] as const;
type Case = (typeof CASES)[number];

const BIG = 5_000;
const ANA = { by: 'ana', reason: 'wrong order' };

/** When the workers are killed: before people act, so that nobody is there to hear it, or right after. */
const MOMENTS = ['before', 'after'] as const;

function orderOf(name: Case): { id: string } & Record<string, unknown> {
  const number = CASES.indexOf(name) + 1;
  const refund = name !== 'reread';
  // A tenth of it is refunded.
  const total = BIG * 10;
  const ago = (days: number): string => new Date(Date.now() - days * 86_400_000).toISOString();
  return {
    ...{ id: `${number}-1`, customerId: customerOf(name), total, placedAt: ago(2) },
    ...(refund
      ? { status: 'delivered', deliveredAt: ago(1), settleMs: 0 }
      : { status: 'paid', deliveredAt: null, settleMs: 30_000 }),
    lines: [{ id: 'line-1', sku: 'CASE-1', name: 'Case', quantity: 1, unitPrice: total }],
  };
}

function customerOf(name: Case): string {
  return `${name}@example.com`;
}

/** A wait of every kind at once, workers that are killed, and what became of it. */
async function play(moment: (typeof MOMENTS)[number]) {
  const settings = {
    ...scenarioSize({ workers: 2, toolTimeoutMs: 8_000, sendTimeoutMs: 2_000 }),
    slackMs: 1_500,
  };
  const stage = await Stage.open(settings, CASES.map(orderOf));
  await stage.addWorkers(settings);
  const { store, queues, records, redis } = stage.onlooker;
  const operator = new Operator({ store, queues, records });
  const conversation = (name: Case): string => `crash/${name}`;
  const write = (name: Case, messageId: string, text: string) =>
    acceptMessage(store, queues, {
      ...{ source: 'crash', conversationId: name, messageId, text },
      requester: { id: customerOf(name), assurance: 'verified' },
    });
  const turnOf = async (name: Case): Promise<string> =>
    (await records.conversation(conversation(name)))?.openTurn ?? '';

  // The refund that is under way has left its worker and does not arrive before that one is dead.
  const held = Promise.withResolvers<void>();
  const { id: heldOrder } = orderOf('underWay');
  for (const { toOrders } of stage.workers) {
    toOrders.when([`POST /orders/${heldOrder}/refunds`], 1, (request) => {
      request.hold(1_000);
      held.resolve();
    });
  }
  for (const name of CASES) {
    await write(name, 'm1', `${name === 'reread' ? 'cancel' : 'refund-big'} ${orderOf(name).id}`);
  }
  const waiting = new Map<Case, Approval>();
  await until(async () => {
    for (const approval of await records.pendingApprovals()) {
      const name = approval.conversationId.slice('crash/'.length) as Case;
      waiting.set(name, approval);
    }
    return waiting.size === CASES.length - 1;
  });
  await until(async () => (await store.parkedTurn(conversation('reread'))) !== undefined);
  const turns = new Map<Case, string>();
  for (const name of CASES) turns.set(name, await turnOf(name));

  const answers = new Map<Case, ApprovalAnswer>();
  const decide = async (name: Case, decision: 'approved' | 'rejected' = 'approved') => {
    const id = waiting.get(name)?.id ?? '';
    answers.set(name, await operator.decideApproval(id, decision, { by: 'ana', comment: 'no' }));
  };
  await decide('underWay');
  await held.promise;
  const act = async (): Promise<void> => {
    await decide('approved');
    await decide('rejected', 'rejected');
    await operator.cancel(turns.get('cancelled') ?? '', ANA);
    await operator.takeOver(conversation('taken'), ANA);
    const tag = store.tagOf(conversation('expired'));
    const expired = waiting.get('expired')?.id ?? '';
    await redis.hset(key(tag, 'approval', expired), 'expiresAt', Date.now() - 1);
    await decide('expired');
    // Support has refunded a part of it by hand.
    await stage.orders.post(
      `/orders/${orderOf('changed').id}/refunds`,
      { amount: 700, reason: 'defect', lineId: 'line-1' },
      { key: 'by-hand' },
    );
    await decide('changed');
    await write('behind', 'm2', `status ${orderOf('behind').id}`);
    await decide('behind');
    await operator.takeOver(conversation('reread'), ANA);
    await operator.cancel(turns.get('underWay') ?? '', ANA);
  };
  const kill = () => Promise.all(stage.workers.map((worker) => worker.kill()));
  const killed = moment === 'before' ? kill() : undefined;
  await act();
  await (killed ?? kill());

  // What has changed meanwhile is asked about again.
  const again = (): Promise<Approval | undefined> =>
    records.pendingApprovals().then(([first]) => first);
  await until(async () => (await again())?.conversationId === conversation('changed'));
  const second = await again();
  await operator.decideApproval(second?.id ?? '', 'approved', { by: 'bob' });
  const tag = store.tags()[0] ?? '';
  await until(async () => (await redis.zcard(key(tag, 'ended'))) >= CASES.length + 1);
  await until(async () => (await redis.zcard(key(tag, 'undelivered'))) === 0);
  await until(async () => (await redis.zcard(key(tag, 'due'))) === 0);
  const ended = new Map<Case, TurnRecord>();
  for (const [name, id] of turns) {
    const turn = await records.turn(id);
    if (turn !== undefined) ended.set(name, turn);
  }
  const paid = async (name: Case): Promise<{ amount: number; idempotencyKey: string }[]> => {
    const { body } = await stage.orders.get(`/orders/${orderOf(name).id}/refunds`);
    return (body as { refunds: { amount: number; idempotencyKey: string }[] }).refunds;
  };
  return { stage, records, answers, ended, second, paid, conversation };
}

describe.each(MOMENTS)('[S0-51] every worker is killed %s people act on what waits', (moment) => {
  let played: Awaited<ReturnType<typeof play>>;
  beforeAll(async () => {
    played = await play(moment);
  }, 90_000);
  afterAll(() => played.stage.close());

  test('[P1] an approved action is done once and the customer told', async () => {
    const { answers, ended, paid } = played;
    expect(answers.get('approved')).toMatchObject({ kind: 'decided', status: 'approved' });
    expect(ended.get('approved')?.reason).toBe('replied');
    expect(await paid('approved')).toMatchObject([{ amount: BIG }]);
  });

  test('a rejected one is not done, and people have it', async () => {
    const { ended, paid } = played;
    expect(ended.get('rejected')?.reason).toBe('approval_rejected');
    expect(await paid('rejected')).toEqual([]);
  });

  test('[P12] a cancelled turn has stopped, and says when it was asked to', async () => {
    const { ended, paid } = played;
    const turn = ended.get('cancelled');
    expect(turn).toMatchObject({ outcome: 'cancelled', reason: 'cancelled' });
    const stop = stopOf(turn);
    expect(stop).toMatchObject({ ...ANA, running: [], how: 'stopped' });
    expect(stop?.requestedAt).toBeLessThanOrEqual(stop?.at ?? 0);
    expect(await paid('cancelled')).toEqual([]);
  });

  test('[P13] a taken one has stopped, and the person has the conversation', async () => {
    const { ended, paid, records, conversation } = played;
    expect(ended.get('taken')?.reason).toBe('human_takeover');
    expect((await records.conversation(conversation('taken')))?.holder).toMatchObject({
      ...{ owner: 'human', takenBy: 'ana' },
    });
    expect(await paid('taken')).toEqual([]);
  });

  test('one that had expired is told so to the approver, and ends so', async () => {
    const { answers, ended, paid } = played;
    expect(answers.get('expired')).toMatchObject({ status: 'expired', by: 'clock' });
    expect(ended.get('expired')?.reason).toBe('approval_expired');
    expect(await paid('expired')).toEqual([]);
  });

  test('[P7] one whose order has changed is asked about again, and done once after the second yes', async () => {
    const { ended, paid, second } = played;
    expect(second).toMatchObject({ tool: 'refund', seen: { refunded: 700 } });
    expect(ended.get('changed')?.reason).toBe('replied');
    expect((await paid('changed')).map(({ amount }) => amount).toSorted()).toEqual([BIG, 700]);
  });

  test('[P2] a message behind a wait is answered after it', async () => {
    const { records, conversation, ended, paid } = played;
    const turns = await records.turnsOf(conversation('behind'));
    expect(turns.map(({ reason }) => reason)).toEqual(['replied', 'replied']);
    expect(turns[0]?.startedAt).toBeGreaterThanOrEqual(ended.get('behind')?.endedAt ?? Infinity);
    expect(await paid('behind')).toHaveLength(1);
  });

  test('[P13] a re-read that was waited for leaves its effect on record as it was', async () => {
    const { ended, records, conversation } = played;
    expect(ended.get('reread')?.reason).toBe('human_takeover');
    const [row] = await records.ledger(conversation('reread'));
    expect(row).toMatchObject({ tool: 'cancel_order', attempts: 1 });
  });

  test('[P4] [P5] [P12] a call that was under way may have happened, and nobody says otherwise', async () => {
    const { ended, records, conversation, paid } = played;
    const turn = ended.get('underWay');
    expect(turn?.outcome).toBe('cancelled');
    const stop = stopOf(turn);
    expect(stop).toMatchObject({ ...ANA, running: [expect.stringMatching(/^refund \(/)] });
    const [row] = await records.ledger(conversation('underWay'));
    const refunds = await paid('underWay');
    expect(refunds.length).toBeLessThanOrEqual(1);
    expect(row).toMatchObject({ tool: 'refund', attempts: 1 });
    if (refunds.length === 1) expect(row?.status).not.toBe('not_landed');
    if (moment === 'before') {
      expect([turn?.reason, stop?.how, row?.status]).toEqual([
        ...['force_terminated', 'abandoned', 'unknown'],
      ]);
    }
  });
});
