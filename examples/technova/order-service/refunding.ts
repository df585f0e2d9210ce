import { Problem } from '../service/problem.ts';
import type { Order, Refund, RefundRequest } from './model.ts';

const WINDOW_DAYS = 30;
const DAY_MS = 86_400_000;

interface RefundCase {
  order: Order;
  request: RefundRequest;
  /** The refunds the order already has. */
  earlier: Refund[];
  /** Epoch ms; decides about the window. */
  businessNow: number;
}

/** The shop's own rules, checked in the transaction that pays, whoever asks. Throws a `Problem` to refuse. */
export function assertRefundable({ order, request, earlier, businessNow }: RefundCase): void {
  switch (request.reason) {
    case 'cancellation':
      if (order.status !== 'cancelled')
        refuse(409, 'order_not_cancelled', `Order ${order.id} is ${order.status}, not cancelled.`);
      break;
    case 'defect':
      assertDefect(order, request, earlier, businessNow);
      break;
    case 'goodwill':
      break;
    default:
      request.reason satisfies never;
  }
  const left = order.total - order.refunded;
  if (request.amount > left)
    refuse(
      409,
      'exceeds_total',
      `${request.amount} is more than the ${left} left to refund on order ${order.id}.`,
    );
}

function assertDefect(
  order: Order,
  request: RefundRequest,
  earlier: Refund[],
  businessNow: number,
): void {
  if (request.lineId === undefined)
    refuse(422, 'line_required', 'A defect refund names the order line: set lineId.');
  const line = order.lines.find((candidate) => candidate.id === request.lineId);
  if (line === undefined)
    refuse(422, 'line_unknown', `Order ${order.id} has no line ${request.lineId}.`);
  if (order.status !== 'delivered' || order.deliveredAt === null) {
    refuse(409, 'order_not_delivered', `Order ${order.id} is ${order.status}, not delivered.`);
  }
  if (businessNow - Date.parse(order.deliveredAt) > WINDOW_DAYS * DAY_MS) {
    refuse(
      409,
      'outside_window',
      `Order ${order.id} was delivered on ${order.deliveredAt}, more than ${WINDOW_DAYS} days ago.`,
    );
  }
  const paid = earlier
    .filter((refund) => refund.lineId === line.id)
    .reduce((sum, refund) => sum + refund.amount, 0);
  const left = line.unitPrice * line.quantity - paid;
  if (request.amount > left)
    refuse(
      409,
      'exceeds_line',
      `${request.amount} is more than the ${left} left to refund on line ${line.id}.`,
    );
}

function refuse(status: number, code: string, message: string): never {
  throw new Problem(status, code, message);
}
