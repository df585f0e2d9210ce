import type { ProposalInput } from '../../src/contracts/index.ts';
import type { View } from '../../src/loop/index.ts';
import { PARTS } from '../crash/load.ts';

/** What a customer's message asks the first turn to do before it gives up; thanks come later, in the middle of a batch. */
export type Wish = 'refunded' | 'refused' | 'thanks';

/**
 * The model of the reprocessing test, a function of the view alone. Its first turn refunds, or is refused a refund, and gives
 * up. Asked again it has forgotten everything and asks for the refund, whatever was done before.
 */
export function policy(view: View): ProposalInput {
  const [wish = '', orderId = ''] = (view.messages[0]?.text ?? '').split(' ');
  if (wish === 'thanks') return { kind: 'finish_candidate', reply: 'You are welcome.' };
  const first = view.history.length === 0;
  const seen = view.rounds.flatMap(({ results }) => results);
  const last = seen.at(-1);
  if (last === undefined) return call('get_order', { orderId });
  const again = last.result.kind === 'failed' && last.result.transient;
  if (last.tool === 'get_order' || again) {
    const total = Number(Reflect.get(Object(view.facts[`order:${orderId}`]?.data), 'total'));
    // The shop refunds a cancellation only once the order is cancelled.
    const reason = first && wish === 'refused' ? 'cancellation' : 'defect';
    return call('refund', { orderId, amount: total / PARTS, reason });
  }
  if (first) return { kind: 'escalate', rationale: 'the shop was not itself' };
  if (last.result.kind !== 'ok') return { kind: 'escalate', rationale: `${last.tool} failed` };
  const reply = `Order ${orderId} is refunded.`;
  const evidence = seen.filter(({ result }) => result.kind === 'ok').map((one) => one.evidence);
  return { kind: 'finish_candidate', reply, claims: [{ text: reply, evidence }] };
}

function call(tool: string, args: object): ProposalInput {
  return { kind: 'tool_calls', calls: [{ id: 'c1', tool, arguments: args }] };
}
