import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { acceptMessage } from '../../src/producers/index.ts';
import { Operator } from '../../src/producers/operator.ts';
import { key } from '../../src/store/keys.ts';
import type { TurnRecord } from '../../src/store/records.ts';
import { until } from '../crash/acts.ts';
import { scenarioSize } from '../crash/settings.ts';
import { Stage } from '../crash/stage.ts';
import { stopOf } from './waiting-shop.ts';

// Real worker processes that are killed with SIGKILL around what customers write, and people cancel, during each wait.

/** What a turn waits for, and what happens to it then. */
const WRITTEN_TO = ['person', 'reread', 'later'] as const;
const CANCELLED = ['rereadCancelled', 'laterCancelled'] as const;
const CASES = [...WRITTEN_TO, ...CANCELLED];
type Case = (typeof CASES)[number];

const PLAYS = (['buffer', 'supersede'] as const).flatMap((policy) =>
  (['before', 'after'] as const).map((moment) => ({ policy, moment })),
);
const ANA = { by: 'ana', reason: 'wrong order' };
const BIG = 5_000;
/** How long the shop takes to cancel, and the model to be there again: longer than workers take to come back. */
const LONG_MS = 12_000;

const customerOf = (name: Case): string => `${name}@example.com`;
const orderIdOf = (name: Case): string => `${CASES.indexOf(name) + 1}-1`;

function orderOf(name: Case): object {
  const isCancelled = name.startsWith('reread');
  const total = BIG * 10;
  const ago = (days: number): string => new Date(Date.now() - days * 86_400_000).toISOString();
  return {
    ...{ id: orderIdOf(name), customerId: customerOf(name), total, placedAt: ago(2) },
    ...(isCancelled
      ? { status: 'paid', deliveredAt: null, settleMs: LONG_MS }
      : { status: 'delivered', deliveredAt: ago(1), settleMs: 0 }),
    lines: [{ id: 'line-1', sku: 'CASE-1', name: 'Case', quantity: 1, unitPrice: total }],
  };
}

function wishOf(name: Case): string {
  if (name.startsWith('reread')) return `cancel ${orderIdOf(name)}`;
  const refund = `refund-big ${orderIdOf(name)}`;
  return name === 'person' ? refund : `later ${Date.now() + LONG_MS} ${refund}`;
}

async function play({ policy, moment }: (typeof PLAYS)[number]) {
  const settings = {
    ...scenarioSize({ workers: 2, toolTimeoutMs: 8_000, sendTimeoutMs: 2_000 }),
    ...{ slackMs: 1_500, whileWaiting: policy },
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

  for (const name of CASES) await write(name, 'm1', wishOf(name));
  const waiting = new Map<Case, string>();
  await until(async () => {
    for (const name of CASES) {
      const parked = await store.parkedTurn(conversation(name));
      if (parked !== undefined) waiting.set(name, parked.turnId);
    }
    return waiting.size === CASES.length;
  });

  const kill = () => Promise.all(stage.workers.map((worker) => worker.kill()));
  const killed = moment === 'before' ? kill() : undefined;
  for (const name of WRITTEN_TO) await write(name, 'm2', `status ${orderIdOf(name)}`);
  for (const name of CANCELLED) await operator.cancel(waiting.get(name) ?? '', ANA);
  await (killed ?? kill());

  // Whoever is asked, as often as it takes, agrees.
  const agreed = new Set<string>();
  const tag = store.tags()[0] ?? '';
  await until(async () => {
    for (const { id } of await records.pendingApprovals()) {
      const isOutdated = policy === 'supersede' && agreed.size === 0 && (await isFirst(id));
      if (agreed.has(id) || isOutdated) continue;
      const answer = await operator.decideApproval(id, 'approved', { by: 'ana' });
      if (answer.kind === 'decided') agreed.add(id);
    }
    return (await redis.zcard(key(tag, 'ended'))) >= CASES.length + WRITTEN_TO.length;
  });
  async function isFirst(id: string): Promise<boolean> {
    const approval = await records.approval(id);
    return approval?.turnId === waiting.get('person');
  }
  await until(async () => (await redis.zcard(key(tag, 'undelivered'))) === 0);
  await until(async () => (await redis.zcard(key(tag, 'due'))) === 0);

  const turns = new Map<Case, TurnRecord[]>();
  for (const name of CASES) {
    const all = await records.turnsOf(conversation(name));
    turns.set(
      name,
      all.toSorted((a, b) => a.startedAt - b.startedAt),
    );
  }
  const of = (name: Case): TurnRecord[] => turns.get(name) ?? [];
  const paid = async (name: Case): Promise<unknown[]> => {
    const { body } = await stage.orders.get(`/orders/${orderIdOf(name)}/refunds`);
    return (body as { refunds: unknown[] }).refunds;
  };
  const ledger = (name: Case) => records.ledger(conversation(name));
  return { stage, waiting, of, paid, ledger };
}

describe.each(PLAYS)(
  '[S0-51] every worker is killed $moment what comes in during a wait, policy $policy',
  ({ policy, moment }) => {
    let played: Awaited<ReturnType<typeof play>>;
    beforeAll(async () => {
      played = await play({ policy, moment });
    }, 90_000);
    afterAll(() => played.stage.close());

    test.each(WRITTEN_TO)(
      '[P1] [P2] [P4] a message during a wait for %s is answered once, after or together with the first',
      async (name) => {
        const { of, paid, ledger, waiting } = played;
        const turns = of(name);

        expect(turns[0]?.turnId).toBe(waiting.get(name));
        expect(turns.map(({ reason }) => reason)).toEqual(
          policy === 'buffer' ? ['replied', 'replied'] : ['superseded', 'replied'],
        );
        expect(turns.map(({ messages }) => messages.map(({ messageId }) => messageId))).toEqual(
          policy === 'buffer' ? [['m1'], ['m2']] : [['m1'], ['m1', 'm2']],
        );
        expect(turns[1]?.startedAt).toBeGreaterThanOrEqual(turns[0]?.endedAt ?? Infinity);
        // Whatever was killed and begun anew: done once, under one operation, and known to be done.
        expect(await ledger(name)).toMatchObject([{ status: 'verified' }]);
        expect(await paid(name)).toHaveLength(name === 'reread' ? 0 : 1);
      },
    );

    test.each(CANCELLED)(
      '[P12] a turn that waits (%s) has stopped, and says since when',
      async (name) => {
        const { of, paid, ledger } = played;
        const turns = of(name);

        expect(turns).toMatchObject([{ outcome: 'cancelled', reason: 'cancelled' }]);
        const stop = stopOf(turns[0]);
        expect(stop).toMatchObject({ ...ANA, running: [], how: 'stopped' });
        expect(stop?.requestedAt).toBeLessThanOrEqual(stop?.at ?? 0);
        expect(await paid(name)).toEqual([]);
        expect(await ledger(name)).toHaveLength(name === 'rereadCancelled' ? 1 : 0);
      },
    );
  },
);
