import type { ProposalInput, View } from '../../../src/index.ts';
import { fromDocuments, menuOf } from './documents.ts';
import { PROCEDURES } from './procedures.ts';
import { REPLIES } from './replies.ts';
import { orderFact } from './shapes.ts';
import { escalate, finish, lastOf, propose, setback, type Call, type Seen } from './turn-so-far.ts';
import { readWish, type Reading } from './wishes.ts';

const SKILL = 'cancel-and-refund';
/** Orders looked at in one turn: as many as calls of a round are run. */
const MOST_ORDERS = 3;

/**
 * TechNova's stand-in for a language model: one decision a round, a function of the view and of nothing else. It knows
 * no ticket and no order; what it does follows from what the tools say. Replies are in English whatever language the
 * customer writes in.
 */
export function policy(view: View): ProposalInput {
  const reading = readWish(view);
  if (reading.blank) return ask(REPLIES.emptyMessage);
  switch (reading.wish) {
    case 'nothing':
      return { kind: 'finish_candidate', reply: '', as: 'no_reply_needed' };
    case 'legal':
      return escalate('the customer speaks of a chargeback or a lawyer');
    case 'data_request':
      return escalate('a data request: it belongs to the privacy team');
    case 'replacement':
      return escalate('the customer wants a replacement, which I have no tool for');
    case 'other':
      return (
        fromDocuments(view) ?? { kind: 'finish_candidate', reply: menuOf(view), as: 'no_answer' }
      );
    case 'order_status':
      return tellStatus(view, reading);
    default:
      return forOneOrder(view, reading, reading.wish);
  }
}

function forOneOrder(view: View, reading: Reading, wish: keyof typeof PROCEDURES): ProposalInput {
  const [id, ...others] = ordersMeant(view, reading);
  if (id === undefined) return aboutPolicy(view, reading) ?? ask(REPLIES.whichOrder);
  if (others.length > 0) return ask(REPLIES.severalOrders);

  const read = lastOf(view, 'get_order', id);
  if (read === undefined) {
    const skill =
      wish === 'cancel' || wish === 'refund' || wish === 'defect' ? loadSkillOnce(view) : [];
    return propose(view, ...skill, getOrder(id));
  }
  if (isWithheld(read)) return ask(REPLIES.notFound([id]));
  const order = orderFact(view.facts, id);
  if (read.result.kind !== 'ok' || order === undefined) return setback(view, read);
  // The customer must not learn of it, and no money may move.
  if (order.flags.includes('fraud_hold')) return escalate(`order ${id} is held for review`);
  const at = view.facts[`order:${id}`]?.at ?? 0;
  return PROCEDURES[wish]({ view, reading, order, at, read });
}

/** "How many days do I have to return a lamp?" is about no order. */
function aboutPolicy(view: View, { wish, text }: Reading): ProposalInput | undefined {
  const isQuestion = (wish === 'return' || wish === 'refund') && text.includes('?');
  return isQuestion ? fromDocuments(view) : undefined;
}

function tellStatus(view: View, reading: Reading): ProposalInput {
  const ids = ordersMeant(view, reading).slice(0, MOST_ORDERS);
  if (ids.length === 0) return ask(REPLIES.whichOrder);
  const unread = ids.filter((id) => lastOf(view, 'get_order', id) === undefined);
  if (unread.length > 0) return propose(view, ...unread.map(getOrder));

  const reads = ids.flatMap((id) => lastOf(view, 'get_order', id) ?? []);
  const failed = reads.find((read) => read.result.kind !== 'ok' && !isWithheld(read));
  if (failed !== undefined) return setback(view, failed);
  const orders = ids.flatMap((id) => orderFact(view.facts, id) ?? []);
  if (orders.some(({ flags }) => flags.includes('fraud_hold')))
    return escalate('an order is held for review');
  const hidden = ids.filter((id) => !orders.some((order) => order.id === id));
  if (orders.length === 0) return ask(REPLIES.notFound(hidden));
  const lines = orders.map(REPLIES.status);
  return finish(
    [...lines, ...(hidden.length > 0 ? [REPLIES.notFound(hidden)] : [])].join(' '),
    ...reads,
  );
}

/** The orders the customer names, else the one this conversation has been about. */
function ordersMeant(view: View, { orderIds }: Reading): readonly string[] {
  if (orderIds.length > 0) return orderIds;
  const known = Object.keys(view.facts).flatMap(
    (resource) => /^order:([^/]+)$/.exec(resource)?.[1] ?? [],
  );
  return known.length === 1 ? known : [];
}

/** No such order, or somebody else's: the customer is told the same. */
function isWithheld({ result }: Seen): boolean {
  return (
    (result.kind === 'rejected' && result.code === 'not_yours') ||
    (result.kind === 'refused' && result.code === 'order_not_found')
  );
}

function loadSkillOnce(view: View): Call[] {
  if (!view.skills.some(({ name }) => name === SKILL)) return [];
  const earlier = view.history.flatMap((entry) => (entry.kind === 'turn' ? entry.rounds : []));
  const loaded = [...earlier, ...view.rounds].some(({ results }) =>
    results.some(({ tool, result }) => tool === 'load_skill' && result.kind === 'ok'),
  );
  return loaded ? [] : [{ tool: 'load_skill', arguments: { name: SKILL } }];
}

function getOrder(orderId: string): Call {
  return { tool: 'get_order', arguments: { orderId } };
}

function ask(text: string): ProposalInput {
  return { kind: 'ask_customer', text };
}
