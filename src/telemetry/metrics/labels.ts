import {
  approvalDecisionSchema,
  callResultSchema,
  CHECKS,
  DELIVERY_KINDS,
  EFFECT_STATUSES,
  effectRefusalSchema,
  MODEL_FAILURES,
  OUTCOMES,
  parkSchema,
  PHASES,
  QUEUES,
  STOP_CAUSES,
  STOP_REASONS,
  VERDICTS,
} from '../../contracts/index.ts';

/** What takes the place of a value beyond the number a label may have. */
export const OTHER = 'other';

type Closed = { help: string; values: readonly string[] };
type Guarded = { help: string; atMost: number };

/**
 * Every label of every metric. Closed: the values are a union of ours. Guarded: the first so many values of a process
 * are kept, every later one is counted as `other`. None of them names a conversation, a turn, a customer or a ticket.
 */
export const LABELS = {
  account: {
    help: 'one account of a turn',
    values: ['rounds', 'tool_calls', 'tokens', 'cost', 'time'],
  },
  blocked_by: {
    help: 'what the turn in front of a waiting message does',
    values: ['running', 'verification', 'approval', 'back_off', 'not_taken'],
  },
  case_result: {
    help: 'what a batch did with a case',
    values: ['started', 'passed_over'],
  },
  cause: { help: 'who or what stopped a turn from outside', values: STOP_CAUSES },
  check: { help: 'one of the six checks', values: CHECKS },
  claim: {
    help: 'how a claim of a conversation came out',
    values: ['new', 'resumed', 'recovered', 'held', 'parked', 'empty'],
  },
  code: { help: 'code of a rejection, from the loop or a tool', atMost: 64 },
  decision: { help: 'what became of an approval', values: approvalDecisionSchema.options },
  delivery_kind: { help: 'what was to be sent', values: DELIVERY_KINDS },
  delivery_status: {
    help: 'where a delivery went in one step',
    values: ['sent', 'unknown', 'dropped', 'pending'],
  },
  effect_status: { help: 'status of a row of the ledger', values: EFFECT_STATUSES },
  gate_verdict: {
    help: 'whether the best passage of a search reached the threshold',
    values: ['found', 'no_result'],
  },
  job_state: {
    help: 'state of a job of a queue',
    values: ['waiting', 'active', 'delayed', 'waiting_children'],
  },
  lane: { help: 'number of the lane', atMost: 256 },
  model: { help: 'model as the provider names it', atMost: 32 },
  model_result: { help: '`ok`, or how the call failed', values: ['ok', ...MODEL_FAILURES] },
  outcome: { help: 'what happened to the case of the customer', values: OUTCOMES },
  park: { help: 'what a turn waits for', values: parkSchema.shape.kind.options },
  phase: { help: 'where a turn is', values: PHASES },
  provider: { help: 'configured provider of the model', atMost: 16 },
  quantile: { help: 'part of the samples below', values: ['0.5', '0.99', '1'] },
  queue: { help: 'one of the four queues', values: Object.keys(QUEUES) },
  received: {
    help: 'what became of a message handed in',
    values: ['accepted', 'duplicate', 'refused'],
  },
  refusal: {
    help: 'why the ledger did not let a write run',
    values: effectRefusalSchema.shape.refusal.options,
  },
  repair: {
    help: 'what the reconciler did',
    values: ['turn_poked', 'turn_woken', 'child_hurried', 'delivery_poked', 'orphan_removed'],
  },
  search_part: {
    help: 'part of a search: recall, or precision',
    values: ['retriever', 'reranker'],
  },
  setting: {
    help: 'a setting of Redis the promises depend on',
    values: ['appendonly', 'appendfsync', 'maxmemory_policy'],
  },
  source: { help: 'ticketing system a message came from', atMost: 32 },
  stop_reason: { help: 'why a turn stopped', values: Object.values(STOP_REASONS).flat() },
  token_kind: { help: 'tokens read or written', values: ['input', 'output'] },
  tool: { help: 'tool of the agent; a name it does not have is `other`', atMost: 64 },
  tool_result: {
    help: 'how a tool call ended',
    values: callResultSchema.options.map((one) => one.shape.kind.value),
  },
  verdict: { help: 'what a re-read says about an effect', values: VERDICTS },
  verb: {
    help: 'step of the store that refused a late writer',
    values: ['turn', 'verdict', 'delivery'],
  },
  version: { help: 'version of Turnkeeper', atMost: 4 },
  webhook_result: {
    help: 'what became of a webhook request',
    values: [
      ...['accepted', 'duplicate', 'ignored', 'invalid', 'unavailable'],
      // Not believed, by the reason.
      ...['no_secret', 'missing_signature', 'bad_signature'],
      ...['missing_stamp', 'bad_stamp', 'stale'],
      // Never looked at.
      ...['too_large', 'rate_limited', 'shed'],
    ],
  },
} as const satisfies Record<string, Closed | Guarded>;
export type LabelName = keyof typeof LABELS;

/** The closed values of a label; undefined when it is guarded. */
export function closedValues(label: LabelName): readonly string[] | undefined {
  const definition: Closed | Guarded = LABELS[label];
  return 'values' in definition ? definition.values : undefined;
}

/** How many values a label can have, `other` included. */
export function mostValues(label: LabelName): number {
  const definition: Closed | Guarded = LABELS[label];
  return 'values' in definition ? definition.values.length : definition.atMost + 1;
}
