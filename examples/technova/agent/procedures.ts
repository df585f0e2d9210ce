import { z } from 'zod';
import type { ProposalInput, View } from '../../../src/index.ts';
import { REPLIES } from './replies.ts';
import { refundSchema, refundsSchema, type Order, type Refund } from './shapes.ts';
import { escalate, finish, lastOf, propose, setback, type Seen } from './turn-so-far.ts';
import { countIn, mentions, type Reading, type Wish } from './wishes.ts';

/** An order of the customer's own that was read in this turn, and when (milliseconds since the epoch). */
type Case = { view: View; reading: Reading; order: Order; at: number; read: Seen };

type OrderWish = Exclude<
  Wish,
  'nothing' | 'legal' | 'data_request' | 'replacement' | 'order_status' | 'other'
>;

/** The next step towards a wish, by what is established so far. Each is asked again in every round. */
export const PROCEDURES: Readonly<Record<OrderWish, (one: Case) => ProposalInput>> = {
  cancel: (one) =>
    wantsPart(one) ? escalate('the customer wants to cancel a part of the order') : cancel(one),
  refund,
  defect,
  return: sendBack,
  keep: ({ order, read }) =>
    order.status === 'cancellation_pending'
      ? escalate('the customer wants to keep an order whose cancellation is under way')
      : finish(REPLIES.kept(order), read),
  refund_status: ({ view, order, read }) => {
    const refunds = lastOf(view, 'get_refund', order.id);
    if (refunds === undefined) return getRefund(view, order);
    if (refunds.result.kind !== 'ok') return setback(view, refunds);
    return finish(REPLIES.refunds(order, refundsOf(refunds)), read, refunds);
  },
};

/** Cancel, and only when a re-read has shown it cancelled, pay back what is left. */
function cancel({ view, order, read }: Case): ProposalInput {
  const asked = lastOf(view, 'cancel_order', order.id);
  if (order.status !== 'cancelled') {
    if (hasLeft(order)) return { kind: 'refuse', reply: REPLIES.cannotCancel(order) };
    if (asked === undefined) {
      return propose(view, { tool: 'cancel_order', arguments: { orderId: order.id } });
    }
    const { result } = asked;
    if (result.kind === 'refused' && ['order_shipped', 'order_delivered'].includes(result.code)) {
      return { kind: 'refuse', reply: REPLIES.leftWarehouse(order) };
    }
    return setback(view, asked);
  }

  const paid = lastOf(view, 'issue_refund', order.id);
  if (paid === undefined) {
    const amount = order.total - order.refunded;
    if (amount > 0) {
      const args = { orderId: order.id, amount, reason: 'cancellation' };
      return propose(view, { tool: 'issue_refund', arguments: args });
    }
    return finish(
      asked === undefined ? REPLIES.alreadyRefunded(order) : REPLIES.cancelled(order, undefined),
      read,
      asked,
    );
  }
  if (paid.result.kind !== 'ok') return setback(view, paid);
  return finish(REPLIES.cancelled(order, refundsOf(paid)[0]), asked ?? read, paid);
}

/** Money back without saying why: what that takes depends on where the order is. */
function refund(one: Case): ProposalInput {
  const { order } = one;
  if (order.status === 'cancelled') return cancel(one);
  if (order.status === 'delivered') return { kind: 'ask_customer', text: REPLIES.whichItem(order) };
  if (order.status === 'shipped') return { kind: 'refuse', reply: REPLIES.cannotCancel(order) };
  return { kind: 'ask_customer', text: REPLIES.cancelFirst(order) };
}

/** The defective pieces of one line of a delivered order. */
function defect({ view, reading, order, at, read }: Case): ProposalInput {
  if (order.status !== 'delivered')
    return { kind: 'ask_customer', text: REPLIES.notDelivered(order) };
  const paid = lastOf(view, 'issue_refund', order.id);
  if (paid === undefined) {
    if (isOutsideWindow(order, at)) return { kind: 'refuse', reply: REPLIES.outsideWindow(order) };
    const part = defectivePart(reading, order);
    if (part === undefined) return { kind: 'ask_customer', text: REPLIES.whichItem(order) };
    const args = { orderId: order.id, ...part, reason: 'defect' };
    return propose(view, { tool: 'issue_refund', arguments: args });
  }
  const { result } = paid;
  if (result.kind === 'ok') {
    const [refunded] = refundsOf(paid);
    const line = order.lines.find(({ id }) => id === paid.args['lineId']);
    if (refunded === undefined || line === undefined)
      return escalate('the refund is done and cannot be read');
    return finish(REPLIES.defectRefunded(order, refunded, line.name), read, paid);
  }
  if (result.kind === 'refused' && result.code === 'outside_window') {
    return { kind: 'refuse', reply: REPLIES.outsideWindow(order) };
  }
  if (PAID_BEFORE.has(result.code)) {
    const refunds = lastOf(view, 'get_refund', order.id);
    if (refunds === undefined) return getRefund(view, order);
    return refundsOf(refunds).length > 0
      ? finish(REPLIES.defectRefundedBefore(order, refundsOf(refunds)), refunds)
      : escalate(`the refund is on record (${result.code}) and the order service does not show it`);
  }
  return setback(view, paid);
}

/** The ledger or the order service says that this money has been paid already. */
const PAID_BEFORE = new Set(['possible_repeat', 'conflict', 'exceeds_line', 'exceeds_total']);

function sendBack({ order, at, read }: Case): ProposalInput {
  if (order.status === 'delivered') {
    return isOutsideWindow(order, at)
      ? { kind: 'refuse', reply: REPLIES.outsideWindow(order) }
      : finish(REPLIES.mayReturn(order), read);
  }
  if (order.status === 'shipped') return { kind: 'refuse', reply: REPLIES.cannotCancel(order) };
  if (order.status === 'cancelled') return finish(REPLIES.status(order), read);
  return { kind: 'ask_customer', text: REPLIES.cancelFirst(order) };
}

/** Which line, and what its defective pieces cost; nothing when the customer has to be asked. */
function defectivePart(
  { text }: Reading,
  { lines }: Order,
): { lineId: string; amount: number } | undefined {
  const named = lines.length === 1 ? lines : lines.filter(({ name }) => mentions(text, name));
  const [line, ...others] = named;
  if (line === undefined || others.length > 0) return undefined;
  const pieces = countIn(text, line.name, line.quantity) ?? (line.quantity === 1 ? 1 : undefined);
  if (pieces === undefined || pieces > line.quantity) return undefined;
  return { lineId: line.id, amount: pieces * line.unitPrice };
}

/** Fewer pieces than the order holds. */
function wantsPart({ reading, order }: Case): boolean {
  const pieces = order.lines.map(({ name, quantity }) => countIn(reading.text, name, quantity));
  const wanted = pieces.reduce<number>((sum, count) => sum + (count ?? 0), 0);
  return wanted > 0 && wanted < order.lines.reduce((sum, { quantity }) => sum + quantity, 0);
}

const WINDOW_MS = 30 * 86_400_000;

function isOutsideWindow({ deliveredAt }: Order, at: number): boolean {
  return deliveredAt !== null && at - Date.parse(deliveredAt) > WINDOW_MS;
}

function hasLeft({ status }: Order): boolean {
  return status === 'shipped' || status === 'delivered';
}

function getRefund(view: View, { id }: Order): ProposalInput {
  return propose(view, { tool: 'get_refund', arguments: { orderId: id } });
}

/** The refunds a result shows: one that was just made, or those a re-read found. */
function refundsOf({ result }: Seen): Refund[] {
  if (result.kind !== 'ok') return [];
  const shown = z
    .union([z.object({ refund: refundSchema }), refundsSchema])
    .safeParse(result.observation.data).data;
  if (shown === undefined) return [];
  return 'refund' in shown ? [shown.refund] : shown.refunds;
}
