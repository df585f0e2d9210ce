import { z } from 'zod';
import { defineTool, type ToolContract, type Verdict } from '../../../src/index.ts';
import { TIMEOUT_MS, type OrderApi } from './order-api.ts';
import { orderFact, orderId, orderSchema, ownerOnly, type Order } from './shapes.ts';

const acknowledged = z.object({
  status: z.enum(['accepted', 'already_cancelled']),
  orderId: z.string(),
  cancellation: z.object({ id: z.string(), requestedAt: z.string() }).nullable(),
});

/**
 * Asks for a cancellation. The service answers that it accepted the wish; whether the order is cancelled only a re-read
 * of the order can tell.
 */
export function cancelOrder(api: OrderApi): ToolContract {
  return defineTool({
    name: 'cancel_order',
    description: {
      use: 'Cancels a whole order that has not been shipped, after get_order has shown that it may be.',
      avoid: 'shipped or delivered orders (a return); single lines of an order; paying money back.',
    },
    input: z.object({ orderId }),
    output: acknowledged,
    effect: 'write',
    reversible: false,
    resource: (args) => [`order:${args.orderId}`],
    provenance: { orderId: 'customer' },
    failureModes: ['error_status', 'raises', 'times_out'],
    timeoutMs: TIMEOUT_MS,
    idempotency: { scope: 'resource', occurrence: null, enforcesValidity: true },
    // Nothing is lost that cannot be ordered again; the money is looked at by the refund.
    approval: () => 'never',
    range: (args, facts) => {
      const status = orderFact(facts, args.orderId)?.status;
      return status === 'shipped' || status === 'delivered'
        ? {
            code: 'not_cancellable',
            message: `the order is ${status}; it can be returned instead.`,
          }
        : undefined;
    },
    authorize: (args, principal, facts) => ownerOnly(args.orderId, principal, facts),
    verify: {
      level: 'reread',
      read: async (args, context) =>
        orderSchema.parse(await api.read(`/orders/${args.orderId}`, context)),
      landed: (order) => cancellationVerdict(order as Order),
      attempts: 4,
      backoffMs: 200,
    },
    run: async (args, context) =>
      (await api.write(`/orders/${args.orderId}/cancel`, {}, context)) as z.infer<
        typeof acknowledged
      >,
  });
}

/** Only the terminal status counts. A cancellation that some lines have is one that the order has not. */
export function cancellationVerdict({ status, cancellation }: Order): Exclude<Verdict, 'unknown'> {
  if (status === 'cancelled') return 'landed';
  if (cancellation === null || cancellation.status === 'failed') return 'not_landed';
  return cancellation.status === 'blocked' ? 'blocked' : 'pending';
}
