import { z } from 'zod';
import { defineTool, type Denial, type Facts, type ToolContract } from '../../../src/index.ts';
import { TIMEOUT_MS, type OrderApi } from './order-api.ts';
import {
  money,
  orderFact,
  orderId,
  orderSchema,
  ownerOnly,
  refundSchema,
  refundsSchema,
  type Refunds,
} from './shapes.ts';

const input = z.object({
  orderId,
  amount: z.int().describe('cents'),
  reason: z.enum(['cancellation', 'defect']),
  lineId: z.string().min(1).max(64).optional().describe('the defective line; only for a defect'),
});
const output = z.object({ refund: refundSchema });
type RefundArguments = z.infer<typeof input>;

/** Pays money back for a cancelled order, or for a line that arrived defective. */
export function issueRefund(api: OrderApi): ToolContract {
  return defineTool({
    name: 'issue_refund',
    description: {
      use: 'Pays money back: the rest of a cancelled order, or the defective pieces of one delivered line.',
      avoid: 'orders whose cancellation is not confirmed yet; goodwill; other payment methods.',
    },
    input,
    output,
    effect: 'write',
    reversible: false,
    resource: (args) => [
      `order:${args.orderId}/${args.lineId === undefined ? 'refund' : `line:${args.lineId}`}`,
    ],
    provenance: {
      orderId: 'customer',
      amount: { of: ({ orderId: id, lineId }, facts) => payable(id, lineId, facts) },
      reason: 'customer',
      lineId: 'authoritative',
    },
    failureModes: ['error_status', 'raises', 'times_out'],
    timeoutMs: TIMEOUT_MS,
    idempotency: { scope: 'intent', occurrence: (args) => args.lineId, enforcesValidity: true },
    range: justified,
    authorize: (args, principal, facts) =>
      ownerOnly(args.orderId, principal, facts) ?? inRightState(args, facts),
    approval: (args, facts) => {
      const currency = orderFact(facts, args.orderId)?.currency ?? 'unknown currency';
      const summary = `refund of ${money(args.amount, currency)} on order ${args.orderId}`;
      return { amount: args.amount, currency, summary };
    },
    approvalState: async (args, context) => {
      const order = orderSchema.parse(await api.read(`/orders/${args.orderId}`, context));
      const { status, version, total, refunded, currency } = order;
      return { status, version, total, refunded, currency };
    },
    verify: {
      level: 'reread',
      read: async (_args, context) => {
        const key = encodeURIComponent(context.operation);
        return refundsSchema.parse(await api.read(`/refunds?key=${key}`, context));
      },
      landed: (read) => {
        const [refund] = (read as Refunds).refunds;
        if (refund === undefined) return 'not_landed';
        return refund.status === 'settled' ? 'landed' : 'pending';
      },
      attempts: 4,
      backoffMs: 200,
    },
    run: async ({ orderId: id, ...body }, context) =>
      (await api.write(`/orders/${id}/refunds`, body, context)) as z.infer<typeof output>,
  });
}

/** Check 2: the amount is what the established order justifies, whatever the customer or the model says it should be. */
function justified(args: RefundArguments, facts: Facts): Denial | undefined {
  const order = orderFact(facts, args.orderId);
  if (order === undefined) return undefined;
  const deny = (message: string): Denial => ({ code: 'amount_not_justified', message });
  if (args.amount <= 0) return deny('the amount must be above 0.');
  switch (args.reason) {
    case 'cancellation': {
      if (args.lineId !== undefined) {
        return {
          code: 'line_not_expected',
          message: 'a cancelled order is refunded as a whole; leave lineId out.',
        };
      }
      const left = order.total - order.refunded;
      return args.amount === left
        ? undefined
        : deny(`${left} cents are left to refund on this order.`);
    }
    case 'defect': {
      const line = order.lines.find(({ id }) => id === args.lineId);
      if (line === undefined) {
        const known = order.lines.map(({ id, name }) => `${id} (${name})`).join(', ');
        return { code: 'line_unknown', message: `name the defective line in lineId: ${known}.` };
      }
      const paid = line.unitPrice * line.quantity;
      return args.amount <= paid ? undefined : deny(`${line.name} cost ${paid} cents in all.`);
    }
    default:
      return args.reason satisfies never;
  }
}

/** What an established order allows to be paid back: the rest of it, or one or more pieces of a line. */
function payable(id: unknown, lineId: unknown, facts: Facts): number[] {
  const order = typeof id === 'string' ? orderFact(facts, id) : undefined;
  if (order === undefined) return [];
  const line = order.lines.find((one) => one.id === lineId);
  if (line === undefined) return [order.total - order.refunded];
  return Array.from({ length: line.quantity }, (_, index) => line.unitPrice * (index + 1));
}

/** Check 3, second half. The order service asks again when it pays; here it keeps a useless call from being made. */
function inRightState(args: RefundArguments, facts: Facts): Denial | undefined {
  const status = orderFact(facts, args.orderId)?.status;
  if (args.reason === 'cancellation' && status !== 'cancelled') {
    return {
      code: 'order_not_cancelled',
      message: `the order is ${status}; its cancellation is not confirmed.`,
    };
  }
  if (args.reason === 'defect' && status !== 'delivered') {
    return { code: 'order_not_delivered', message: `the order is ${status}, not delivered.` };
  }
  return undefined;
}
