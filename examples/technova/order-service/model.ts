import { z } from 'zod';

/** All money is in integer minor units (cents) of the order's currency. All times in JSON are ISO 8601, UTC. */
const Money = z.int().min(0);
const Instant = z.iso.datetime({
  error: 'use an ISO 8601 time in UTC such as 2026-03-04T10:15:30Z',
});
const Id = z.string().min(1);

export const ORDER_STATUSES = [
  'placed',
  'paid',
  'packed',
  'shipped',
  'delivered',
  'cancellation_pending',
  'cancelled',
] as const;
export type OrderStatus = (typeof ORDER_STATUSES)[number];

/** Why an accepted cancellation is, or is not, a cancelled order. */
export const CANCEL_BEHAVIOURS = [
  /** Cancelled after `settleMs`. */
  'settles',
  /** Stays in the queue until it is released. */
  'queued',
  /** The order side says cancelled at once, the refund side learns of it after `settleMs`. */
  'not_propagated',
  /** Some lines are cancelled, the rest waits for a replay with the same key. */
  'partly_applied',
  /** Held for fraud review until it is released. */
  'fraud_hold',
] as const;

export const OrderLine = z.strictObject({
  id: Id,
  sku: Id,
  name: z.string(),
  quantity: z.int().min(1),
  unitPrice: Money,
});

/** An order as a world file or `POST /admin/orders` gives it. */
export const OrderSeed = z
  .strictObject({
    id: Id,
    customerId: Id,
    status: z.enum(ORDER_STATUSES),
    placedAt: Instant,
    deliveredAt: Instant.nullable().default(null),
    currency: z.string().length(3).default('EUR'),
    total: Money,
    lines: z.array(OrderLine).min(1),
    refunded: Money.default(0),
    flags: z.array(z.string()).default([]),
    /** Free text of the warehouse. Untrusted. */
    note: z.string().default(''),
    settleMs: z.int().min(0).default(150),
    /** Default: `fraud_hold` when the order carries that flag, else `settles`. */
    cancelBehaviour: z.enum(CANCEL_BEHAVIOURS).optional(),
    /** What a replay with the same key does to a partly applied cancellation. */
    onReplay: z.enum(['completes', 'stays']).default('completes'),
  })
  .refine((order) => order.refunded <= order.total, {
    path: ['refunded'],
    error: 'use at most the order total',
  })
  .refine((order) => order.status !== 'delivered' || order.deliveredAt !== null, {
    path: ['deliveredAt'],
    error: 'give the time of delivery of a delivered order',
  });
export type OrderSeed = z.infer<typeof OrderSeed>;

/** `failed`: the order was shipped or reinstated after all. */
export const CANCELLATION_STATUSES = [
  'queued',
  'pending',
  'partial',
  'blocked',
  'settled',
  'failed',
] as const;

export const Cancellation = z.object({
  id: Id,
  status: z.enum(CANCELLATION_STATUSES),
  requestedAt: Instant,
  settledAt: Instant.nullable(),
  reason: z.string().nullable(),
  cancelledLines: z.array(Id),
  /** How often it was asked for under different keys. */
  requests: z.int().min(1),
});
export type Cancellation = z.infer<typeof Cancellation>;

/** An order as the service keeps it. `version` grows by one with every change. */
export const Order = z.object({
  id: Id,
  customerId: Id,
  status: z.enum(ORDER_STATUSES),
  placedAt: Instant,
  deliveredAt: Instant.nullable(),
  currency: z.string(),
  total: Money,
  lines: z.array(OrderLine),
  refunded: Money,
  flags: z.array(z.string()),
  note: z.string(),
  version: z.int().min(1),
  cancellation: Cancellation.nullable(),
  settleMs: z.int(),
  cancelBehaviour: z.enum(CANCEL_BEHAVIOURS),
  onReplay: z.enum(['completes', 'stays']),
  /** Epoch ms at which the cancellation settles; `null` when nothing is due. */
  dueAt: z.int().nullable(),
});
export type Order = z.infer<typeof Order>;

export const RefundRequest = z.strictObject({
  amount: z.int().min(1),
  reason: z.enum(['cancellation', 'defect', 'goodwill']),
  lineId: Id.optional(),
});
export type RefundRequest = z.infer<typeof RefundRequest>;

export interface Refund {
  id: string;
  orderId: string;
  lineId: string | null;
  amount: number;
  reason: string;
  status: 'pending' | 'settled';
  idempotencyKey: string | null;
  createdAt: string;
}
