import { money, type Order, type Refund } from './shapes.ts';

/** What this agent can do when it cannot answer. */
export const MENU: readonly string[] = [
  'look up an order',
  'cancel one that has not been shipped',
  'refund a cancelled order or an item that arrived defective',
  'tell you where a refund is',
];

/** Every sentence the scripted model may send. Each states only what its arguments prove. */
export const REPLIES = {
  menu: (options: readonly string[]) =>
    `I cannot answer that for certain. I can ${LIST.format(options)}. Which of these may I do?`,
  whichOrder:
    'Happy to help. Which order is this about? The number is in your confirmation, for example 10-48300.',
  emptyMessage:
    'Your message arrived without any text. What can I do for you, and which order is it about?',
  severalOrders:
    'You name several orders. Which one of them do you mean? I will take them one at a time.',

  /** The same words for an order that does not exist and for one of somebody else. */
  notFound: (ids: readonly string[]) =>
    `I cannot find order ${ids.join(', ')} under your account. Could you check the number, or write from the address you ordered with?`,
  signIn:
    'To protect your account I can only change orders when you write while signed in. Please send the request from your account page.',

  cancelled: (order: Order, refund: Refund | undefined) =>
    refund === undefined
      ? `Order ${order.id} is cancelled.`
      : `Order ${order.id} is cancelled and ${money(refund.amount, order.currency)} has been refunded to your payment method.`,
  alreadyRefunded: (order: Order) =>
    `Order ${order.id} is cancelled already and ${money(order.refunded, order.currency)} has been refunded; nothing more is left to do.`,
  cannotCancel: (order: Order) =>
    `Order ${order.id} is ${order.status} and can no longer be cancelled. You can return it within 30 days after delivery.`,
  leftWarehouse: (order: Order) =>
    `Order ${order.id} left our warehouse in the meantime and can no longer be cancelled. You can return it within 30 days after delivery.`,
  kept: (order: Order) =>
    order.status === 'cancelled'
      ? `Order ${order.id} was cancelled before your message reached us, and a cancellation cannot be taken back. Please order again; I am sorry for the trouble.`
      : `Order ${order.id} stays as it is (${word(order)}). Nothing was cancelled.`,
  cancelFirst: (order: Order) =>
    `Order ${order.id} is ${word(order)}. Shall I cancel it and refund ${money(order.total - order.refunded, order.currency)}?`,

  defectRefunded: (order: Order, refund: Refund, name: string) =>
    `I am sorry about that. ${money(refund.amount, order.currency)} for "${name}" of order ${order.id} has been refunded.`,
  defectRefundedBefore: (order: Order, refunds: readonly Refund[]) =>
    `This was refunded already: ${listed(order, refunds)}. If something else is defective too, tell us which item and how many.`,
  whichItem: (order: Order) =>
    `Which item of order ${order.id} is it, how many pieces, and what is wrong with it? It holds ${order.lines.map(({ name, quantity }) => `${quantity} × ${name}`).join(', ')}.`,
  notDelivered: (order: Order) =>
    `Order ${order.id} is ${word(order)} according to our records. Which delivered order do you mean?`,
  outsideWindow: (order: Order) =>
    `Order ${order.id} was delivered on ${day(order.deliveredAt)}. I am sorry: after 30 days it can no longer be returned or refunded.`,
  mayReturn: (order: Order) =>
    `Order ${order.id} was delivered on ${day(order.deliveredAt)}. Unused items can be sent back within 30 days from then; shipping is free. The label is on your account page.`,

  status: (order: Order) =>
    order.deliveredAt === null || order.status !== 'delivered'
      ? `Order ${order.id} of ${day(order.placedAt)} is ${word(order)}.`
      : `Order ${order.id} was delivered on ${day(order.deliveredAt)}.`,
  refunds: (order: Order, refunds: readonly Refund[]) => {
    if (refunds.length > 0) return `For order ${order.id}: ${listed(order, refunds)}.`;
    return order.refunded > 0
      ? `${money(order.refunded, order.currency)} of order ${order.id} have been refunded. Your bank may need a few days to show it.`
      : `Nothing has been refunded for order ${order.id} so far; it is ${word(order)}.`;
  },
} as const;

const LIST = new Intl.ListFormat('en');

function listed(order: Order, refunds: readonly Refund[]): string {
  return refunds
    .map(({ amount, createdAt, status }) => {
      const how = status === 'settled' ? 'refunded' : 'being refunded since';
      return `${money(amount, order.currency)} ${how} on ${day(createdAt)}`;
    })
    .join('; ');
}

function word({ status }: Order): string {
  return status === 'cancellation_pending' ? 'being cancelled' : status;
}

function day(instant: string | null): string {
  return instant?.slice(0, 10) ?? 'an unknown day';
}
