import { z } from 'zod';
import { defineTool, type ToolContract } from '../../../src/index.ts';
import { TIMEOUT_MS, type OrderApi } from './order-api.ts';
import {
  orderId,
  orderSchema,
  ownerOnly,
  refundsSchema,
  type Order,
  type Refunds,
} from './shapes.ts';

/** Reads through the authoritative path: the answer becomes the fact `order:ID` of the conversation. */
export function getOrder(api: OrderApi): ToolContract {
  return defineTool({
    name: 'get_order',
    description: {
      use: 'Reads one order by its number: status, what was bought and paid, whether it is cancelled.',
      avoid:
        'numbers the customer did not give; orders of other people (their content is withheld).',
    },
    input: z.object({ orderId }),
    output: orderSchema,
    effect: 'read',
    reversible: true,
    resource: (args) => [`order:${args.orderId}`],
    provenance: { orderId: 'customer' },
    failureModes: ['error_status', 'times_out'],
    timeoutMs: TIMEOUT_MS,
    assurance: 'claimed',
    authorize: () => undefined,
    owner: (order) => order.customerId,
    run: async (args, context) => (await api.read(`/orders/${args.orderId}`, context)) as Order,
  });
}

export function getRefund(api: OrderApi): ToolContract {
  return defineTool({
    name: 'get_refund',
    description: {
      use: 'Reads the refunds of an order: amount, date, pending or settled. For "where is my money".',
      avoid: 'finding out whether an order is cancelled (get_order); orders not read before.',
    },
    input: z.object({ orderId }),
    output: refundsSchema,
    effect: 'read',
    reversible: true,
    resource: (args) => [`order:${args.orderId}/refunds`],
    provenance: { orderId: 'customer' },
    failureModes: ['error_status', 'times_out'],
    timeoutMs: TIMEOUT_MS,
    assurance: 'claimed',
    authorize: (args, principal, facts) => ownerOnly(args.orderId, principal, facts),
    run: async (args, context) =>
      (await api.read(`/orders/${args.orderId}/refunds`, context)) as Refunds,
  });
}
