import type { Cancellation, Order, OrderStatus } from './model.ts';

export type Consistency = 'authoritative' | 'eventual';

/** An order as a reader sees it. `cancellation` is `null` when none was ever asked for. */
export interface OrderView {
  id: string;
  customerId: string;
  status: OrderStatus;
  placedAt: string;
  deliveredAt: string | null;
  currency: string;
  total: number;
  lines: Order['lines'];
  refunded: number;
  flags: string[];
  note: string;
  version: number;
  cancellation: Cancellation | null;
  /** Whether the refund side takes the order for cancelled. */
  refundSide: 'open' | 'cancelled';
  consistency: Consistency;
  readAt: string;
}

/**
 * The authoritative view is the state both sides agree on. The eventual one is the order side's own, possibly old:
 * it shows a cancellation that has not reached the refund side as done.
 */
export function viewOf(order: Order, consistency: Consistency, now: number): OrderView {
  const {
    settleMs: _settleMs,
    cancelBehaviour,
    onReplay: _onReplay,
    dueAt: _dueAt,
    ...visible
  } = order;
  const underway = cancelBehaviour === 'not_propagated' && order.cancellation?.status === 'pending';
  const status = underway && consistency === 'eventual' ? 'cancelled' : order.status;
  return {
    ...visible,
    status,
    refundSide: order.status === 'cancelled' ? 'cancelled' : 'open',
    consistency,
    readAt: new Date(now).toISOString(),
  };
}
