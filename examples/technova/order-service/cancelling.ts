import { Problem } from '../service/problem.ts';
import type { Cancellation, Order } from './model.ts';

/** The moves of a cancellation. Pure: each takes an order and answers the order after the move. Times are epoch ms. */

const OPEN: ReadonlySet<Cancellation['status']> = new Set([
  'queued',
  'pending',
  'partial',
  'blocked',
]);

/** Refuses an order that has left the warehouse. */
export function assertCancellable(order: Order): void {
  if (order.status !== 'shipped' && order.status !== 'delivered') return;
  throw new Problem(
    409,
    `order_${order.status}`,
    `Order ${order.id} is ${order.status}; only an order that was not shipped can be cancelled.`,
  );
}

/** Accepts a cancellation: what happens next is the order's `cancelBehaviour`. Asking again while one is open adds no second one. */
export function requestCancellation(order: Order, at: number): Order {
  const open = order.cancellation;
  if (open !== null && OPEN.has(open.status)) {
    return { ...order, cancellation: { ...open, requests: open.requests + 1 } };
  }
  const cancellation: Cancellation = {
    id: `can-${order.id}-${order.version + 1}`,
    status: 'pending',
    requestedAt: new Date(at).toISOString(),
    settledAt: null,
    reason: null,
    cancelledLines: [],
    requests: 1,
  };
  const pending: Order = { ...order, status: 'cancellation_pending', cancellation };
  switch (order.cancelBehaviour) {
    case 'settles':
    case 'not_propagated':
      return { ...pending, dueAt: at + order.settleMs };
    case 'queued':
      return { ...pending, cancellation: { ...cancellation, status: 'queued' } };
    case 'partly_applied': {
      const cancelledLines = someLines(order);
      const reason = `${cancelledLines.length} of ${order.lines.length} lines cancelled`;
      return {
        ...pending,
        cancellation: { ...cancellation, status: 'partial', cancelledLines, reason },
      };
    }
    case 'fraud_hold': {
      const flags = [...new Set([...order.flags, 'fraud_hold'])];
      return {
        ...order,
        flags,
        cancellation: { ...cancellation, status: 'blocked', reason: 'fraud review' },
      };
    }
    default:
      order.cancelBehaviour satisfies never;
      throw new Error(`cancel behaviour ${String(order.cancelBehaviour)} has no move`);
  }
}

/** A repeat with the same key: completes a partly applied cancellation when the order allows it, else changes nothing. */
export function continueCancellation(order: Order, at: number): Order | undefined {
  if (order.cancellation?.status !== 'partial' || order.onReplay === 'stays') return undefined;
  return {
    ...order,
    cancellation: { ...order.cancellation, status: 'pending' },
    dueAt: at + order.settleMs,
  };
}

/** The cancellation takes effect: the whole order is cancelled, on the order side and on the refund side. */
export function settleCancellation(order: Order, at: number): Order {
  if (order.cancellation === null)
    throw new Error(`order ${order.id} has no cancellation to settle`);
  const cancelledLines = order.lines.map((line) => line.id);
  const settledAt = new Date(at).toISOString();
  return {
    ...order,
    status: 'cancelled',
    flags: order.flags.filter((flag) => flag !== 'fraud_hold'),
    cancellation: {
      ...order.cancellation,
      status: 'settled',
      settledAt,
      reason: null,
      cancelledLines,
    },
    dueAt: null,
  };
}

export function hasOpenCancellation(order: Order): boolean {
  return order.cancellation !== null && OPEN.has(order.cancellation.status);
}

/** The warehouse ships the order, cancelled or not: what was promised to the customer is overtaken. */
export function ship(order: Order): Order {
  return overtake(order, 'shipped', 'shipped by the warehouse');
}

/** Support takes the cancellation back. */
export function reinstate(order: Order): Order {
  return overtake(order, 'paid', 'reinstated by support');
}

function overtake(order: Order, status: 'shipped' | 'paid', reason: string): Order {
  const cancellation = order.cancellation && {
    ...order.cancellation,
    status: 'failed' as const,
    reason,
  };
  return { ...order, status, cancellation, dueAt: null };
}

/** About half of the lines, never all of them. */
function someLines(order: Order): string[] {
  const count = Math.min(Math.ceil(order.lines.length / 2), order.lines.length - 1);
  return order.lines.slice(0, count).map((line) => line.id);
}
