import { policy as safe } from '../examples/technova/agent/policy.ts';
import { orderIdsIn } from '../examples/technova/agent/wishes.ts';
import type { ProposalInput } from '../src/contracts/index.ts';
import type { View } from '../src/loop/index.ts';

/**
 * The well-known wrong way as a model would propose it: cancel and pay in one breath whatever the order is and whoever
 * owns it, take the acknowledgement for the deed, and say that all is done.
 */
function naive(view: View): ProposalInput {
  const [orderId] = orderIdsIn(view.messages.map(({ text }) => text).join('\n'));
  if (orderId === undefined) {
    return { kind: 'finish_candidate', reply: 'All is done, as you wished.' };
  }
  if (view.rounds.length === 0) return calls(['get_order', { orderId }]);
  if (view.rounds.length === 1) {
    const amount = totalOf(view.facts[`order:${orderId}`]?.data);
    return calls(
      ['cancel_order', { orderId }],
      ['issue_refund', { orderId, amount, reason: 'cancellation' }],
    );
  }
  return {
    kind: 'finish_candidate',
    reply: `Order ${orderId} is cancelled and refunded.`,
  };
}

function calls(...wanted: readonly [tool: string, args: object][]): ProposalInput {
  return {
    kind: 'tool_calls',
    calls: wanted.map(([tool, args], index) => ({ id: `c${index + 1}`, tool, arguments: args })),
  };
}

/** What was paid; a guess where the order cannot be read. */
function totalOf(order: unknown): number {
  const total: unknown =
    typeof order === 'object' && order !== null ? Reflect.get(order, 'total') : 0;
  return typeof total === 'number' && total > 0 ? total : 10_000;
}

/** Who decides. `safe` is the policy the example ships with. */
export const POLICIES = { safe, naive } as const satisfies Record<
  string,
  (view: View) => ProposalInput
>;
export type PolicyName = keyof typeof POLICIES;
