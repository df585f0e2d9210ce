import type { TicketMessage } from '../../src/contracts/index.ts';
import { conversationIdOf } from '../../src/store/index.ts';
import type { Random } from './random.ts';
import type { RunSettings } from './settings.ts';

/**
 * What a customer asks for, and so which ways of the pipeline the message takes: a read; a write that is verified at
 * once; the same write proposed twice by the model; a write a person must agree to; a write whose verification parks;
 * both kinds of parking in one turn.
 */
export const WISHES = [
  'status',
  'refund',
  'refund-twice',
  'refund-big',
  'cancel',
  'cancel-and-refund',
] as const;
export type Wish = (typeof WISHES)[number];

/** What the world must look like afterwards: done exactly once. */
export type BusinessEffect = { operation: 'cancel' | 'refund'; orderId: string; amount: number };

export type PlannedMessage = {
  ticket: TicketMessage;
  conversationId: string;
  /** 1, 2, … within the conversation: the order of acceptance. */
  number: number;
  wish: Wish;
  /** Every message is about an order of its own, so that each effect belongs to one message. */
  orderId: string;
  effects: readonly BusinessEffect[];
  reply: string;
};

export type Load = { conversations: PlannedMessage[][]; orders: object[] };

/** Cents. Refunds above the limit need a person. */
export const APPROVAL_LIMIT = 1_000;
const SMALL = 500;
const BIG = 5_000;

/** A refund is one part of what was paid: the shop's own rules leave room for a second one by mistake. */
export const PARTS = 10;

const SOURCE = 'crash';

/** The messages of a run and the orders they are about; a function of the size and the seed. */
export function planLoad(
  size: Pick<RunSettings, 'conversations' | 'messages' | 'wishes' | 'settleMs'>,
  random: Random,
): Load {
  const { conversations, messages, wishes = WISHES, settleMs } = size;
  const planned = Array.from({ length: conversations }, (_, conversation) =>
    Array.from({ length: messages }, (__, index) =>
      planMessage(conversation + 1, index + 1, random.pick(wishes)),
    ),
  );
  const orders = planned.flat().map((message) => orderFor(message, random.between(...settleMs)));
  return { conversations: planned, orders };
}

function planMessage(conversation: number, number: number, wish: Wish): PlannedMessage {
  const externalId = `c${conversation}`;
  const orderId = `${conversation}-${number}`;
  return {
    ticket: {
      source: SOURCE,
      conversationId: externalId,
      messageId: `m${number}`,
      text: `${wish} ${orderId}`,
      requester: { id: customerOf(conversation), assurance: 'verified' },
    },
    conversationId: conversationIdOf(SOURCE, externalId),
    number,
    wish,
    orderId,
    effects: effectsOf(wish, orderId),
    reply: replyTo(wish, orderId),
  };
}

export function replyTo(wish: string, orderId: string): string {
  return `${wish} of order ${orderId}: done.`;
}

function effectsOf(wish: Wish, orderId: string): BusinessEffect[] {
  const cancel = { operation: 'cancel', orderId, amount: 0 } as const;
  const refund = (amount: number) => ({ operation: 'refund', orderId, amount }) as const;
  switch (wish) {
    case 'status':
      return [];
    case 'refund':
    case 'refund-twice':
      return [refund(SMALL)];
    case 'refund-big':
      return [refund(BIG)];
    case 'cancel':
      return [cancel];
    case 'cancel-and-refund':
      return [cancel, refund(BIG)];
    default:
      return wish satisfies never;
  }
}

function orderFor({ orderId, wish, ticket, effects }: PlannedMessage, settleMs: number): object {
  const delivered = wish.startsWith('refund');
  const total = (effects.at(-1)?.amount || SMALL) * PARTS;
  const now = Date.now();
  return {
    id: orderId,
    customerId: ticket.requester.id,
    status: delivered ? 'delivered' : 'paid',
    placedAt: new Date(now - 2 * 86_400_000).toISOString(),
    deliveredAt: delivered ? new Date(now - 86_400_000).toISOString() : null,
    total,
    settleMs,
    lines: [{ id: 'line-1', sku: 'CASE-1', name: 'Case', quantity: 1, unitPrice: total }],
  };
}

function customerOf(conversation: number): string {
  return `customer-${conversation}@example.com`;
}
