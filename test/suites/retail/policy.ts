import type { ProposalInput, View, ViewResult } from '../../../src/index.ts';
import { TRANSFER } from './contracts.ts';
import type { Action, Task } from './data.ts';
import { orderFact, readArguments, userFact } from './shapes.ts';

type Call = Extract<ProposalInput, { kind: 'tool_calls' }>['calls'][number];

/** An action of a task; its number stands in front of the id of each call made for it. */
type Step = { id: string; action: Action; index: number };

const CALLS_A_ROUND = 3;
/** Belongs to nobody: whoever asks may know it. */
const PUBLIC = new Set([
  'get_product_details',
  'get_item_details',
  'list_all_product_types',
  'calculate',
]);

/**
 * The model of the suite: it plays the actions of the task its message names in the subject, and inserts the reads
 * their contracts want. Written for somebody else, it tries everything that touches the customer of the task all the
 * same.
 */
export function policyFor(tasks: readonly Task[]): (view: View) => ProposalInput {
  const byId = new Map(tasks.map((task) => [task.id, task]));
  return (view) => {
    const task = byId.get(view.messages[0]?.subject ?? '');
    if (task === undefined) return { kind: 'escalate', rationale: 'no task has this subject' };
    return play(task, view);
  };
}

/** The calls of a task: those of the customer's own, or what a stranger may not do. */
export function callsOf(task: Task, requester: string): Step[] {
  const calls = task.actions
    .map((action, index) => ({ id: nameOf(index), action, index }))
    .filter(({ action }) => action.name !== TRANSFER);
  return requester === task.userId ? calls : calls.filter(({ action }) => !PUBLIC.has(action.name));
}

function nameOf(index: number): string {
  return `${index} of the task`;
}

function play(task: Task, view: View): ProposalInput {
  const results = view.rounds.flatMap((round) => round.results);
  const settled = settledIn(results);
  const calls: Call[] = [];
  for (const step of callsOf(task, view.requester.id)) {
    const { id, action } = step;
    if (settled(step) || calls.length >= CALLS_A_ROUND) continue;
    const call = { id, tool: action.name, arguments: action.args };
    if (!action.mutates) {
      calls.push(call);
      continue;
    }
    if (calls.length > 0) break;
    const needs = readsFor(step, task, view).filter(({ id: read }) =>
      results.every((one) => one.callId !== read || !isSettled(one)),
    );
    calls.push(...(needs.length > 0 ? needs.slice(0, CALLS_A_ROUND) : [call]));
    break;
  }
  return calls.length > 0 ? { kind: 'tool_calls', calls } : end(task, view, results);
}

/**
 * Whether an action is over. Only the last rounds are in view; as actions are played in order, one that is not and comes
 * before one that is has been settled.
 */
function settledIn(results: readonly ViewResult[]): (step: Step) => boolean {
  const reached = Math.max(-1, ...results.map(({ callId }) => Number.parseInt(callId, 10)));
  return ({ id, index }) => {
    const last = results.findLast(({ callId }) => callId === id);
    return last === undefined ? index < reached : isSettled(last);
  };
}

function end(task: Task, view: View, results: readonly ViewResult[]): ProposalInput {
  if (view.requester.id !== task.userId) {
    return { kind: 'refuse', reply: 'I find nothing of yours that fits.' };
  }
  const reply = ['This is where your request stands.', ...task.communicate].join('\n');
  switch (task.outcome) {
    case 'transfer':
      return { kind: 'escalate', rationale: 'the task ends with people' };
    case 'refuse':
      return { kind: 'refuse', reply };
    case 'answer':
    case 'change': {
      return { kind: 'finish_candidate', reply, claims: claimsOf(task, results) };
    }
    default:
      return task.outcome satisfies never;
  }
}

/** Of each change, that it was made. */
function claimsOf({ actions }: Task, results: readonly ViewResult[]) {
  return results.flatMap(({ callId, tool, evidence, result }) => {
    const action = actions.find((_, index) => callId === nameOf(index));
    if (action?.mutates !== true || result.kind !== 'ok') return [];
    const { order_id, user_id } = readArguments(action.args);
    return [{ text: `${tool} of ${order_id ?? user_id}`, evidence: [evidence] }];
  });
}

/** What certainly did not happen, or was one call too many, is asked for again. */
function isSettled({ result }: ViewResult): boolean {
  if (result.kind === 'failed') return !result.transient;
  return result.kind !== 'rejected' || result.check !== 'budget';
}

/**
 * The reads a write needs and that are not facts yet: its order, the customer's profile for whom it pays, where they live
 * or which order is theirs, the products of a swap, and the other orders where an address stands that the customer did not spell out.
 */
function readsFor({ action, index }: Step, task: Task, view: View): Call[] {
  const {
    order_id,
    payment_method_id,
    user_id,
    item_ids = [],
    ...rest
  } = readArguments(action.args);
  const { new_item_ids, address1 } = rest;
  const reads = new Map<string, Call>();
  const need = (resource: string, tool: string, wanted: object): void => {
    if (view.facts[resource] !== undefined) return;
    reads.set(resource, { id: `${index} needs ${resource}`, tool, arguments: wanted });
  };
  if (order_id !== undefined) need(`order:${order_id}`, 'get_order_details', { order_id });
  // An order the customer did not name is one their profile lists.
  const isNamed =
    order_id === undefined || view.messages.some(({ text }) => text.includes(order_id));
  if (!isNamed || (payment_method_id ?? user_id ?? address1) !== undefined) {
    need(`user:${task.userId}`, 'get_user_details', { user_id: task.userId });
  }
  const order = orderFact(view.facts, order_id);
  for (const item of new_item_ids === undefined ? [] : (order?.items ?? [])) {
    const { item_id, product_id } = item;
    if (!item_ids.includes(item_id)) continue;
    need(`product:${product_id}`, 'get_product_details', { product_id });
  }
  if (address1 !== undefined && !isKnown(address1, view)) {
    for (const id of userFact(view.facts, task.userId)?.orders ?? []) {
      need(`order:${id}`, 'get_order_details', { order_id: id });
    }
  }
  return [...reads.values()];
}

function isKnown(value: string, { messages, facts }: View): boolean {
  return JSON.stringify([messages, facts]).includes(value);
}
