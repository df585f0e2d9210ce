import { inTransaction } from '../service/database.ts';
import { hasOpenCancellation, reinstate, ship } from './cancelling.ts';
import { Problem } from '../service/problem.ts';
import type { Order } from './model.ts';
import type { Shop } from './shop.ts';

/** What others do to an order while an agent is at work on it: the warehouse, support, the review desk. */

const CHANGES = { ship, reinstate } as const;

export type OtherChange = keyof typeof CHANGES;

/** Makes the change and logs it as `changed:<change>:<order id>`. */
export function changeByOthers(shop: Shop, orderId: string, change: OtherChange): Order {
  return inTransaction(shop.db, () => {
    const order = shop.orders.save(CHANGES[change](shop.orders.get(orderId)), shop.now());
    shop.log.append(
      'change',
      `changed:${change}:${orderId}`,
      { operation: change, subject: orderId },
      {
        orderId,
        orderStatus: order.status,
        version: order.version,
      },
    );
    return order;
  });
}

/** Lets an open cancellation (queued, held, partly applied, under way) settle now. */
export function releaseCancellation(shop: Shop, orderId: string): Order {
  return inTransaction(shop.db, () => {
    const order = shop.orders.get(orderId);
    if (hasOpenCancellation(order)) return shop.settler.settle(order);
    throw new Problem(
      409,
      'no_open_cancellation',
      `Order ${orderId} is ${order.status} and has no open cancellation to release.`,
    );
  });
}
