import { stepsOf, type Step } from '../../examples/technova/agent/comparison.ts';
import { technovaAgent } from '../../examples/technova/agent/agent.ts';
import { messagesOf } from '../../examples/technova/agent/fixtures.ts';
import { naiveRun } from '../../examples/technova/agent/naive.ts';
import type { World } from '../../examples/technova/order-service/world.ts';
import { Records, type TurnRecord } from '../../src/store/records.ts';
import { createTurnkeeper } from '../../src/turnkeeper.ts';
import type { Household, Service } from './household.ts';
import { localModel } from './local-model.ts';
import { PLAY } from './play-settings.ts';
import type { Scenario } from './scenario.ts';

/** One way through the scenario, judged by the log of its order service. Amounts in cents. */
export type ComparedRun = {
  refundGuard: 'on' | 'off';
  refundedBeforeCancelled: boolean;
  refunded: number;
  /** What the order read when money left; null when none did. */
  orderStatusAtRefund: string | null;
  /** What the order reads in the end. */
  orderStatus: string;
  refundRequests: number;
  /** Who said no to a refund, and with which code. */
  refusedBy: 'order-service' | null;
  refusal: string | null;
  outcome: string | null;
  stopReason: string | null;
  steps: Step[];
};

export type Comparison = { naive: ComparedRun; safe: ComparedRun; naiveGuarded: ComparedRun };

/**
 * The same order, three times, each on a fresh shop that accepts the cancellation and never gets round to it: a loop
 * that takes "accepted" for "done", ours, and the first one again with the rule where the money is.
 */
export async function compare(
  house: Household,
  world: World,
  scenario: Scenario,
  model?: Service,
): Promise<Comparison> {
  const { orderId } = scenario;
  const order = world.orders.find(({ id }) => id === orderId);
  const stuck = { orders: [{ ...order, cancelBehaviour: 'queued' }] };
  const run = async (
    name: string,
    refundGuard: 'on' | 'off',
    go: (shop: Service) => Promise<Pick<ComparedRun, 'steps' | 'outcome' | 'stopReason'>>,
  ): Promise<ComparedRun> => {
    const shop = await house.orderService(name, stuck);
    await shop.client.post('/admin/settings', { refundGuard });
    const told = await go(shop);
    return { refundGuard, ...(await judged(shop, orderId)), ...told };
  };
  const naively = async (shop: Service) => {
    const { steps } = await naiveRun(shop.client.url, orderId);
    return { steps, outcome: null, stopReason: null };
  };
  const [naive, safe, naiveGuarded] = await Promise.all([
    run('naive shop', 'off', naively),
    run('safe shop', 'off', (shop) => safely(house, { shop, scenario, model })),
    run('guarded shop', 'on', naively),
  ]);
  return { naive, safe, naiveGuarded };
}

/** What must be seen; names what was not. */
export function contradictions({
  naive,
  safe,
  naiveGuarded,
}: Comparison): { expected: string; got: string }[] {
  const money = ({ refunded, orderStatusAtRefund }: ComparedRun): string =>
    refunded === 0
      ? 'nothing paid'
      : `${refunded} paid while the order read ${orderStatusAtRefund}`;
  return [
    {
      holds: naive.refundedBeforeCancelled,
      expected: 'naive pays before the order is cancelled',
      got: money(naive),
    },
    {
      holds: safe.refunded === 0,
      expected: 'safe pays nothing for an order that is not cancelled',
      got: money(safe),
    },
    {
      holds: naiveGuarded.refunded === 0 && naiveGuarded.refusedBy === 'order-service',
      expected: 'with the guard on the order service refuses the naive refund',
      got: `${money(naiveGuarded)}, refused by ${naiveGuarded.refusedBy ?? 'nobody'}`,
    },
  ].filter(({ holds }) => !holds);
}

/** The same wish through Turnkeeper, with a worker in this process and a store of its own. */
async function safely(
  house: Household,
  {
    shop,
    scenario: { ticket },
    model,
  }: { shop: Service; scenario: Scenario; model: Service | undefined },
) {
  const [{ url }, desk] = await Promise.all([house.redis(), house.ticketDesk('comparison desk')]);
  const agent = technovaAgent({
    orderServiceUrl: shop.client.url,
    ticketDeskUrl: desk.client.url,
    ...localModel(model?.client.url),
  });
  const turnkeeper = await createTurnkeeper({ agent, redisUrl: url, prefix: 'compared', ...PLAY });
  house.closesWith(() => turnkeeper.close());
  const records = new Records(turnkeeper.store);
  const { promise: ended, resolve, reject } = Promise.withResolvers<TurnRecord>();
  await turnkeeper.startWorkers({
    onTrace: (turnId) => {
      records.turn(turnId).then((turn) => turn?.phase === 'ended' && resolve(turn), reject);
    },
  });
  for (const { message } of messagesOf(ticket).slice(0, 1)) await turnkeeper.accept(message);
  const { outcome, reason, events } = await ended;
  return {
    steps: stepsOf(events).filter(({ tool }) => tool !== 'load_skill'),
    outcome,
    stopReason: reason,
  };
}

async function judged({ client }: Service, orderId: string) {
  const about = { operation: 'refund', subject: orderId };
  const paid = await client.log({ kind: 'effect', ...about });
  const asked = await client.log({ kind: 'request', ...about });
  const order = (await client.get(`/orders/${orderId}`)).body as { status: string };
  const statuses = paid.map((entry) => String(entry['orderStatusAtThatMoment']));
  const refused = asked.find((entry) => entry['result'] === 'refused');
  return {
    refundedBeforeCancelled: statuses.some((status) => status !== 'cancelled'),
    refunded: paid.reduce((sum, entry) => sum + Number(entry['amount']), 0),
    orderStatusAtRefund: statuses[0] ?? null,
    orderStatus: order.status,
    refundRequests: asked.length,
    refusedBy: refused === undefined ? null : ('order-service' as const),
    refusal: refused === undefined ? null : String(refused['code']),
  };
}
