import type { ProposalInput } from '../../src/contracts/index.ts';
import type { View, ViewResult } from '../../src/loop/index.ts';
import { PARTS, replyTo, type Wish } from './load.ts';

type Step = { tool: string; arguments: { orderId: string; [name: string]: unknown } };

/**
 * The model of the crash test: a function of the view and of nothing else, so that whichever worker asks after whatever
 * crash gets the same proposal. It reads the order, does what was asked step by step, and asks again for what
 * certainly did not happen.
 */
export function policy(view: View): ProposalInput {
  const [wish = '', orderId = ''] = (view.messages[0]?.text ?? '').split(' ');
  const seen = view.rounds.flatMap((round) => round.results);
  const last = seen.at(-1);
  if (last !== undefined && last.result.kind !== 'ok' && !mayAskAgain(last)) {
    const { kind, code } = last.result;
    return { kind: 'escalate', rationale: `${last.tool}: ${kind} ${code}` };
  }
  const done = seen.filter(({ result }) => result.kind === 'ok');
  const steps = stepsOf(wish as Wish, orderId, view);
  const next = steps[done.length];
  if (next !== undefined) {
    const call = { id: `c${seen.length + 1}`, tool: next.tool, arguments: next.arguments };
    return { kind: 'tool_calls', calls: [call] };
  }
  const reply = replyTo(wish, orderId);
  const evidence = done.map((one) => one.evidence);
  return { kind: 'finish_candidate', reply, claims: [{ text: reply, evidence }] };
}

/** The runtime says that it did not happen and may be tried again. */
function mayAskAgain({ result }: ViewResult): boolean {
  return (
    (result.kind === 'failed' && result.transient) ||
    (result.kind === 'rejected' && result.check === 'approval')
  );
}

function stepsOf(wish: Wish, orderId: string, view: View): Step[] {
  const read: Step = { tool: 'get_order', arguments: { orderId } };
  const cancel: Step = { tool: 'cancel_order', arguments: { orderId } };
  const refund = (reason: 'defect' | 'cancellation'): Step => ({
    tool: 'refund',
    arguments: { orderId, amount: totalOf(view, orderId) / PARTS, reason },
  });
  switch (wish) {
    case 'status':
      return [read];
    case 'refund':
    case 'refund-big':
      return [read, refund('defect')];
    case 'refund-twice':
      // A model that forgets what it did: the ledger answers the second time.
      return [read, refund('defect'), refund('defect')];
    case 'cancel':
      return [read, cancel];
    case 'cancel-and-refund':
      return [read, cancel, refund('cancellation')];
    default:
      return wish satisfies never;
  }
}

/** What the order costs, once it was read. */
function totalOf(view: View, orderId: string): number {
  const data = view.facts[`order:${orderId}`]?.data;
  return typeof data === 'object' && data !== null ? Number(Reflect.get(data, 'total')) : 0;
}
