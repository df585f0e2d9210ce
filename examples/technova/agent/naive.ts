import { z } from 'zod';
import { ToolRefusal } from '../../../src/index.ts';
import { said, type Step } from './comparison.ts';
import { OrderApi, TIMEOUT_MS } from './order-api.ts';
import { orderSchema, refundSchema } from './shapes.ts';

export type NaiveRun = {
  steps: Step[];
  /** Cents paid back; 0 when the order service refused. */
  refunded: number;
  /** What the customer would be told. */
  reply: string;
};

/**
 * The well-known wrong way, kept to be compared with: cancel, take the acknowledgement for the deed, pay at once. Uses
 * the same order service and nothing of the runtime. Not for use.
 */
export async function naiveRun(orderServiceUrl: string, orderId: string): Promise<NaiveRun> {
  const api = new OrderApi(orderServiceUrl);
  const steps: Step[] = [];
  const step = async (
    tool: string,
    args: object,
    run: (signal: AbortSignal) => Promise<unknown>,
  ) => {
    const answer = await run(AbortSignal.timeout(TIMEOUT_MS)).catch((error: unknown) => {
      if (error instanceof ToolRefusal) return error;
      throw error;
    });
    const toolSaid = answer instanceof ToolRefusal ? `refused ${answer.code}` : said(answer);
    steps.push({ tool, arguments: args, toolSaid, rereadSaid: null });
    return answer;
  };

  const read = await step('get_order', { orderId }, (signal) =>
    api.read(`/orders/${orderId}`, { signal }),
  );
  const order = orderSchema.parse(read);
  await step('cancel_order', { orderId }, (signal) =>
    api.write(`/orders/${orderId}/cancel`, {}, { operation: `cancel-${orderId}`, signal }),
  );
  const body = { amount: order.total - order.refunded, reason: 'cancellation' };
  const paid = await step('issue_refund', { orderId, ...body }, (signal) =>
    api.write(`/orders/${orderId}/refunds`, body, { operation: `refund-${orderId}`, signal }),
  );
  const refund = z.object({ refund: refundSchema }).safeParse(paid).data?.refund;
  return {
    steps,
    refunded: refund?.amount ?? 0,
    reply:
      refund === undefined
        ? 'Something went wrong.'
        : `Order ${orderId} is cancelled and refunded.`,
  };
}
