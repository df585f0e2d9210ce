import type { Order, User, WriteArguments } from './shapes.ts';
import { sameAddress } from './shapes.ts';

/** Whether an order shows that a write to it has been done, by tool. */
export const ORDER_SHOWS: Readonly<
  Record<string, (order: Order, args: WriteArguments) => boolean>
> = {
  cancel_pending_order: ({ status, cancel_reason }, { reason }) =>
    status === 'cancelled' && cancel_reason === reason,
  modify_pending_order_address: ({ address }, args) => sameAddress(address, args),
  // The shop lets the items of an order be swapped once.
  modify_pending_order_items: ({ status, items }, { new_item_ids = [] }) =>
    status === 'pending (item modified)' &&
    new_item_ids.every((id) => items.some(({ item_id }) => item_id === id)),
  modify_pending_order_payment: ({ payment_history }, { payment_method_id }) =>
    payment_history.some(
      (entry, index) =>
        index > 0 &&
        entry.transaction_type === 'payment' &&
        entry.payment_method_id === payment_method_id,
    ),
  return_delivered_order_items: (order, { item_ids, payment_method_id }) =>
    order.status === 'return requested' &&
    order.return_payment_method_id === payment_method_id &&
    sameIds(order.return_items, item_ids),
  exchange_delivered_order_items: (order, { item_ids, new_item_ids, payment_method_id }) =>
    order.status === 'exchange requested' &&
    order.exchange_payment_method_id === payment_method_id &&
    sameIds(order.exchange_items, item_ids) &&
    sameIds(order.exchange_new_items, new_item_ids),
};

export function userShows({ address }: User, args: WriteArguments): boolean {
  return sameAddress(address, args);
}

/** The shop keeps lists of items sorted. */
function sameIds(
  kept: readonly string[] | null | undefined,
  asked: readonly string[] = [],
): boolean {
  return JSON.stringify(kept) === JSON.stringify(asked.toSorted());
}
