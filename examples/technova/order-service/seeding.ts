import { inTransaction } from '../service/database.ts';
import { requestCancellation, settleCancellation } from './cancelling.ts';
import type { Order, OrderSeed } from './model.ts';
import type { Shop } from './shop.ts';

/** Puts the orders in place, each with a clean history: refunds, keys and versions of an order known before are gone. */
export function seedOrders(shop: Shop, seeds: OrderSeed[]): void {
  inTransaction(shop.db, () => {
    for (const seed of seeds) {
      shop.refunds.forget(seed.id);
      shop.keys.forget(seed.id);
      shop.orders.replace(orderFrom(seed, shop.now()), shop.now());
    }
  });
  shop.settler.arm();
}

/** As `seedOrders`, but leaves alone what is there already: what a restarted process does. */
export function seedMissingOrders(shop: Shop, seeds: OrderSeed[]): void {
  seedOrders(
    shop,
    seeds.filter((seed) => shop.orders.find(seed.id) === undefined),
  );
}

function orderFrom(seed: OrderSeed, now: number): Order {
  const order: Order = {
    ...seed,
    version: 1,
    cancellation: null,
    cancelBehaviour:
      seed.cancelBehaviour ?? (seed.flags.includes('fraud_hold') ? 'fraud_hold' : 'settles'),
    dueAt: null,
  };
  if (seed.status === 'cancelled') {
    const placedAt = Date.parse(seed.placedAt);
    return settleCancellation(requestCancellation(order, placedAt), placedAt);
  }
  return seed.status === 'cancellation_pending'
    ? requestCancellation({ ...order, status: 'paid' }, now)
    : order;
}
