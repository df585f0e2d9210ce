import { z } from 'zod';
import type { Denial, Facts, Requester } from '../../../src/index.ts';

/** The one spelling of an order number: digits, with dashes inside. `#4482` is how a customer writes 4482. */
export const orderId = z.string().regex(/^\d[\d-]{2,18}\d$/, {
  error: 'must be an order number such as 10-48300, without # or spaces',
});

/** An order as the order service shows it, without what the agent has no use for. Money in cents. */
export const orderSchema = z.object({
  id: z.string(),
  customerId: z.string(),
  status: z.enum([
    'placed',
    'paid',
    'packed',
    'shipped',
    'delivered',
    'cancellation_pending',
    'cancelled',
  ]),
  version: z.int(),
  placedAt: z.string(),
  deliveredAt: z.string().nullable(),
  currency: z.string(),
  total: z.int(),
  refunded: z.int(),
  lines: z.array(
    z.object({ id: z.string(), name: z.string(), quantity: z.int(), unitPrice: z.int() }),
  ),
  flags: z.array(z.string()),
  cancellation: z
    .object({
      status: z.enum(['queued', 'pending', 'partial', 'blocked', 'settled', 'failed']),
      reason: z.string().nullable(),
    })
    .nullable(),
});
export type Order = z.infer<typeof orderSchema>;

export const refundSchema = z.object({
  id: z.string(),
  orderId: z.string(),
  lineId: z.string().nullable(),
  amount: z.int(),
  reason: z.string(),
  status: z.enum(['pending', 'settled']),
  createdAt: z.string(),
});
export type Refund = z.infer<typeof refundSchema>;
export const refundsSchema = z.object({ refunds: z.array(refundSchema) });
export type Refunds = z.infer<typeof refundsSchema>;

/** What is established about an order; nothing when nobody has read it in this conversation. */
export function orderFact(facts: Facts, id: string): Order | undefined {
  return orderSchema.safeParse(facts[`order:${id}`]?.data).data;
}

/** Check 3 of everything that touches an order: it was read here, and it belongs to the person the turn acts for. */
export function ownerOnly(id: string, principal: Requester, facts: Facts): Denial | undefined {
  const order = orderFact(facts, id);
  if (order === undefined) {
    return { code: 'order_not_read', message: `read order ${id} with get_order first.` };
  }
  return order.customerId === principal.id
    ? undefined
    : { code: 'not_yours', message: 'this order does not belong to the requester.' };
}

/** `74000, USD` as `740.00 USD`. */
export function money(cents: number, currency: string): string {
  return `${(cents / 100).toFixed(2)} ${currency}`;
}
