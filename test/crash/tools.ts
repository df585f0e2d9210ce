import { z } from 'zod';
import { OrderApi } from '../../examples/technova/agent/order-api.ts';
import type { Denial, Facts, Requester, ToolContract } from '../../src/contracts/index.ts';
import { defineTool } from '../../src/tools/index.ts';
import { PARTS } from './load.ts';

const orderSchema = z.object({
  id: z.string(),
  customerId: z.string(),
  status: z.string(),
  version: z.int(),
  total: z.int(),
  refunded: z.int(),
  currency: z.string(),
  cancellation: z.object({ status: z.string() }).nullable(),
});
type Order = z.infer<typeof orderSchema>;
const refundSchema = z.object({ id: z.string(), status: z.enum(['pending', 'settled']) });
const orderId = z.string().regex(/^\d+-\d+$/);

export type ToolTimes = {
  /** How long one call may take and how long it is valid, milliseconds. */
  timeoutMs: number;
};

/**
 * The tools of the crash test, on the order service. Their contracts promise what the promises need: an idempotency key
 * and a validity with every write, and an authoritative re-read.
 */
export function crashTools(orderServiceUrl: string, { timeoutMs }: ToolTimes): ToolContract[] {
  const api = new OrderApi(orderServiceUrl);
  return [getOrder(api, timeoutMs), cancelOrder(api, timeoutMs), refund(api, timeoutMs)];
}

/** Reads enough that a re-read outlasts a validity, and soon enough that nobody waits long. */
const READS = { attempts: 40, backoffMs: 150, maxBackoffMs: 1_000 };

function getOrder(api: OrderApi, timeoutMs: number): ToolContract {
  return defineTool({
    name: 'get_order',
    description: { use: 'Reads one order.', avoid: 'orders of other people.' },
    input: z.object({ orderId }),
    output: orderSchema,
    effect: 'read',
    reversible: true,
    resource: (args) => [`order:${args.orderId}`],
    provenance: { orderId: 'customer' },
    failureModes: ['error_status', 'times_out'],
    timeoutMs,
    authorize: () => undefined,
    owner: (order) => order.customerId,
    run: async (args, context) =>
      orderSchema.parse(await api.read(`/orders/${args.orderId}`, context)),
  });
}

/** What a customer of the crash test gets back: a fixed part of what was read. */
function onePart({ orderId: id }: Readonly<Record<string, unknown>>, facts: Facts): number[] {
  const order = orderSchema.safeParse(facts[`order:${String(id)}`]?.data);
  return order.success ? [order.data.total / PARTS] : [];
}

function cancelOrder(api: OrderApi, timeoutMs: number): ToolContract {
  return defineTool({
    name: 'cancel_order',
    description: { use: 'Cancels an order.', avoid: 'orders that were shipped.' },
    input: z.object({ orderId }),
    output: z.object({ status: z.enum(['accepted', 'already_cancelled']) }),
    effect: 'write',
    reversible: false,
    resource: (args) => [`order:${args.orderId}`],
    provenance: { orderId: 'customer' },
    failureModes: ['error_status', 'raises', 'times_out'],
    timeoutMs,
    idempotency: { scope: 'resource', occurrence: null, enforcesValidity: true },
    approval: () => 'never',
    authorize: (args, principal, facts) => ownOrder(args.orderId, principal, facts),
    verify: {
      ...READS,
      level: 'reread',
      read: async (args, context) =>
        orderSchema.parse(await api.read(`/orders/${args.orderId}`, context)),
      landed: (read) => {
        const { status, cancellation } = read as Order;
        if (status === 'cancelled') return 'landed';
        return cancellation === null ? 'not_landed' : 'pending';
      },
    },
    run: async (args, context) =>
      (await api.write(`/orders/${args.orderId}/cancel`, {}, context)) as { status: 'accepted' },
  });
}

function refund(api: OrderApi, timeoutMs: number): ToolContract {
  const refundsSchema = z.object({ refunds: z.array(refundSchema) });
  return defineTool({
    name: 'refund',
    description: { use: 'Pays money back.', avoid: 'orders that were not read before.' },
    input: z.object({
      orderId,
      amount: z.int().positive(),
      reason: z.enum(['defect', 'cancellation']),
    }),
    output: z.object({ refund: refundSchema }),
    effect: 'write',
    reversible: false,
    resource: (args) => [`order:${args.orderId}/refund`],
    provenance: { orderId: 'customer', amount: { of: onePart }, reason: 'customer' },
    failureModes: ['error_status', 'raises', 'times_out'],
    timeoutMs,
    idempotency: { scope: 'intent', occurrence: null, enforcesValidity: true },
    authorize: (args, principal, facts) => ownOrder(args.orderId, principal, facts),
    approval: ({ amount, orderId: id }, facts) => ({
      amount,
      currency: orderFact(facts, id)?.currency ?? 'unknown',
      summary: `refund of ${amount} on order ${id}`,
    }),
    approvalState: async (args, context) => {
      const order = orderSchema.parse(await api.read(`/orders/${args.orderId}`, context));
      return { status: order.status, version: order.version, refunded: order.refunded };
    },
    verify: {
      ...READS,
      level: 'reread',
      read: async (_args, context) => {
        const key = encodeURIComponent(context.operation);
        return refundsSchema.parse(await api.read(`/refunds?key=${key}`, context));
      },
      landed: (read) => {
        const [paid] = (read as z.infer<typeof refundsSchema>).refunds;
        if (paid === undefined) return 'not_landed';
        return paid.status === 'settled' ? 'landed' : 'pending';
      },
    },
    run: async ({ orderId: id, amount, reason }, context) => {
      const body = { amount, reason, ...(reason === 'defect' ? { lineId: 'line-1' } : {}) };
      return (await api.write(`/orders/${id}/refunds`, body, context)) as never;
    },
  });
}

function orderFact(facts: Facts, id: string): Order | undefined {
  return orderSchema.safeParse(facts[`order:${id}`]?.data).data;
}

function ownOrder(id: string, principal: Requester, facts: Facts): Denial | undefined {
  const order = orderFact(facts, id);
  if (order === undefined) return { code: 'not_read', message: `read order ${id} first.` };
  return order.customerId === principal.id
    ? undefined
    : { code: 'not_yours', message: 'this order is not yours.' };
}
