import type { ProposalInput } from '../../src/contracts/index.ts';
import type { View } from '../../src/loop/index.ts';
import type { ScriptedAnswer } from '../../src/models/index.ts';

function call(tool: string, args: object): ProposalInput {
  return { kind: 'tool_calls', calls: [{ id: 'c1', tool, arguments: args }] };
}

/** Reads, cancels, refunds, replies: one step a round, by what it sees. */
export function cancelThenRefund(view: View): ScriptedAnswer {
  const done = view.rounds.flatMap((round) =>
    round.results.filter(({ result }) => result.kind === 'ok').map(({ tool }) => tool),
  );
  if (!done.includes('get_order')) return call('get_order', { orderId: '1' });
  if (!done.includes('cancel_order')) return call('cancel_order', { orderId: '1' });
  if (!done.includes('issue_refund')) return call('issue_refund', { orderId: '1', amount: 2_000 });
  return { kind: 'finish_candidate', reply: 'Cancelled and refunded.' };
}
