import { OUTCOMES, STOP_REASONS } from '../../contracts/index.ts';
import type { LabelName } from './labels.ts';

export type MetricDefinition = {
  type: 'counter' | 'gauge' | 'histogram';
  help: string;
  labels: readonly LabelName[];
  /** Upper bounds of a histogram, in the unit of its name. */
  buckets?: readonly number[];
  /** `process`: every process reports its own share. `shared`: the state of all, reported by one exporter only. */
  of: 'process' | 'shared';
  /** Combinations of closed labels that exist, where that is not all of them. */
  series?: readonly Partial<Record<LabelName, string>>[];
  /** Kept off the dashboards, and why. */
  notShown?: string;
};

const SECONDS = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];
const LONG_SECONDS = [1, 5, 15, 60, 300, 900, 3_600, 14_400, 43_200, 86_400, 259_200];
const SHARES = [0, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 1];

const ENDINGS = OUTCOMES.flatMap((outcome) =>
  STOP_REASONS[outcome].map((stop_reason) => ({ outcome, stop_reason })),
);

/** Every metric, without the prefix `turnkeeper_`. docs/metrics.md is generated from here. */
export const METRICS = {
  // --- turns --------------------------------------------------------------------------------------------------------
  turns_total: {
    type: 'counter',
    help: 'Turns that ended.',
    labels: ['outcome', 'stop_reason', 'source'],
    of: 'process',
    series: ENDINGS,
  },
  turn_duration_seconds: {
    type: 'histogram',
    help: 'From the start of a turn to its end, waits included.',
    labels: ['outcome', 'source'],
    buckets: [...SECONDS, 3_600, 86_400],
    of: 'process',
  },
  customer_wait_seconds: {
    type: 'histogram',
    help: 'From the acceptance of the oldest message of a turn to the end of the turn.',
    labels: ['source'],
    buckets: [...SECONDS, 3_600, 86_400],
    of: 'process',
  },
  turn_queue_wait_seconds: {
    type: 'histogram',
    help: 'From the acceptance of the oldest message of a turn to the start of the turn.',
    labels: ['source'],
    buckets: SECONDS,
    of: 'process',
  },
  turn_handoff_seconds: {
    type: 'histogram',
    help: 'From the end of a turn to the start of the next one of its conversation, where a message waited.',
    labels: ['source'],
    buckets: [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 30],
    of: 'process',
  },
  turn_rounds: {
    type: 'histogram',
    help: 'Rounds of a turn that ended.',
    labels: ['source'],
    buckets: [0, 1, 2, 3, 4, 5, 8, 13],
    of: 'process',
  },
  turn_tool_calls: {
    type: 'histogram',
    help: 'Tool calls of a turn that ended.',
    labels: ['source'],
    buckets: [0, 1, 2, 3, 5, 8, 15, 30],
    of: 'process',
  },
  turn_budget_remaining_ratio: {
    type: 'histogram',
    help: 'What was left of an account when a turn ended, as a share of its limit.',
    labels: ['account'],
    buckets: SHARES,
    of: 'process',
  },
  turn_phase_seconds_total: {
    type: 'counter',
    help: 'Time turns spent in a phase.',
    labels: ['phase'],
    of: 'process',
  },
  turn_events_total: {
    type: 'counter',
    help: 'Steps that turns made: the sign of progress.',
    labels: [],
    of: 'process',
  },
  stops_requested_total: {
    type: 'counter',
    help: 'Turns stopped from outside their own course.',
    labels: ['cause'],
    of: 'process',
  },

  // --- models -------------------------------------------------------------------------------------------------------
  model_calls_total: {
    type: 'counter',
    help: 'Model calls that came to an end.',
    labels: ['provider', 'model', 'model_result'],
    of: 'process',
  },
  model_call_duration_seconds: {
    type: 'histogram',
    help: 'Time of a model call, failed ones included.',
    labels: ['provider', 'model'],
    buckets: [0.05, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60],
    of: 'process',
  },
  model_tokens_total: {
    type: 'counter',
    help: 'Tokens of model calls.',
    labels: ['provider', 'model', 'token_kind'],
    of: 'process',
  },
  model_cost_dollars_total: {
    type: 'counter',
    help: 'Price of model calls, in US dollars.',
    labels: ['provider', 'model'],
    of: 'process',
  },

  // --- tools, effects, verification ---------------------------------------------------------------------------------
  tool_calls_total: {
    type: 'counter',
    help: 'Tool calls that were settled or rejected.',
    labels: ['tool', 'tool_result'],
    of: 'process',
  },
  tool_call_duration_seconds: {
    type: 'histogram',
    help: 'Time of a tool call.',
    labels: ['tool'],
    buckets: [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 15, 30],
    of: 'process',
  },
  call_rejections_total: {
    type: 'counter',
    help: 'Proposed calls that one of the six checks rejected.',
    labels: ['check', 'code'],
    of: 'process',
  },
  effects_total: {
    type: 'counter',
    help: 'Writes that reached a status of the ledger.',
    labels: ['tool', 'effect_status'],
    of: 'process',
  },
  effect_repeats_total: {
    type: 'counter',
    help: 'Writes the ledger held back: duplicates, conflicts and possible repeats.',
    labels: ['tool', 'refusal'],
    of: 'process',
  },
  effects_unknown: {
    type: 'gauge',
    help: 'Effects of which nobody knows whether they happened.',
    labels: ['lane'],
    of: 'shared',
  },
  effects_unknown_oldest_seconds: {
    type: 'gauge',
    help: 'Age of the oldest unknown effect; 0 when there is none.',
    labels: ['lane'],
    of: 'shared',
  },
  verification_reads_total: {
    type: 'counter',
    help: 'Re-reads of the system that owns the fact.',
    labels: ['tool', 'verdict'],
    of: 'process',
  },
  verification_read_duration_seconds: {
    type: 'histogram',
    help: 'Time of one re-read.',
    labels: ['tool'],
    buckets: [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 15],
    of: 'process',
  },
  verifications_total: {
    type: 'counter',
    help: 'Effects whose verification was over, by the last verdict.',
    labels: ['tool', 'verdict'],
    of: 'process',
  },
  verification_reads: {
    type: 'histogram',
    help: 'Re-reads it took until the verification of an effect was over.',
    labels: ['tool'],
    buckets: [1, 2, 3, 4, 6, 10],
    of: 'process',
  },
  verification_gap_seconds: {
    type: 'histogram',
    help: 'From "the tool said" to "the world said": settled call to the re-read that found the effect.',
    labels: ['tool'],
    buckets: [0.01, 0.1, 0.5, 1, 5, 15, 60, 300, 900, 3_600],
    of: 'process',
  },

  // --- knowledge ----------------------------------------------------------------------------------------------------
  knowledge_part_seconds: {
    type: 'histogram',
    help: 'Time a part of a search in the documents took, failed ones included.',
    labels: ['search_part'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
    of: 'process',
  },
  knowledge_failures_total: {
    type: 'counter',
    help: 'Searches that a part could not finish.',
    labels: ['search_part'],
    of: 'process',
  },
  knowledge_candidates: {
    type: 'histogram',
    help: 'Passages a search recalled.',
    labels: [],
    buckets: [0, 1, 5, 10, 15, 20],
    of: 'process',
  },
  knowledge_best_score: {
    type: 'histogram',
    help: 'Best score a search brought to the gate, 0 to 1; 0 when nothing was recalled. From 0.72 it passes.',
    labels: [],
    buckets: [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.65, 0.7, 0.72, 0.75, 0.8, 0.85, 0.9, 0.95, 1],
    of: 'process',
  },
  knowledge_searches_total: {
    type: 'counter',
    help: 'Searches that came to the gate.',
    labels: ['gate_verdict'],
    of: 'process',
  },
  knowledge_cost_dollars_total: {
    type: 'counter',
    help: 'Price of embedding questions, in US dollars.',
    labels: [],
    of: 'process',
  },

  // --- people -------------------------------------------------------------------------------------------------------
  approvals_requested_total: {
    type: 'counter',
    help: 'Approvals asked for.',
    labels: ['tool'],
    of: 'process',
  },
  approvals_decided_total: {
    type: 'counter',
    help: 'Approvals that were decided, expired or fell away.',
    labels: ['decision'],
    of: 'process',
  },
  approval_wait_seconds: {
    type: 'histogram',
    help: 'From asking a person to the decision.',
    labels: ['decision'],
    buckets: LONG_SECONDS,
    of: 'process',
  },
  approvals_waiting: {
    type: 'gauge',
    help: 'Approvals nobody has decided yet.',
    labels: ['lane'],
    of: 'shared',
  },
  approvals_oldest_seconds: {
    type: 'gauge',
    help: 'Age of the approval that expires first; 0 when none waits.',
    labels: ['lane'],
    of: 'shared',
  },
  approval_next_expiry_seconds: {
    type: 'gauge',
    help: 'Time until the next waiting approval expires. No series when none waits.',
    labels: ['lane'],
    of: 'shared',
  },

  // --- waiting ------------------------------------------------------------------------------------------------------
  parks_total: {
    type: 'counter',
    help: 'Turns that were parked.',
    labels: ['park'],
    of: 'process',
  },
  park_seconds: {
    type: 'histogram',
    help: 'From parking a turn to going on with it.',
    labels: ['park'],
    buckets: [0.1, ...LONG_SECONDS],
    of: 'process',
  },
  turns_parked: {
    type: 'gauge',
    help: 'Turns that wait without a worker.',
    labels: ['lane', 'park'],
    of: 'shared',
  },
  conversations_open: {
    type: 'gauge',
    help: 'Conversations with a message or an open turn.',
    labels: ['lane'],
    of: 'shared',
  },
  conversations_blocked: {
    type: 'gauge',
    help: 'Conversations in which a message waits behind an open turn.',
    labels: ['lane', 'blocked_by'],
    of: 'shared',
  },
  blocked_oldest_seconds: {
    type: 'gauge',
    help: 'Age of the oldest message that waits behind an open turn; 0 when none does.',
    labels: ['lane'],
    of: 'shared',
  },
  overdue_oldest_seconds: {
    type: 'gauge',
    help: 'How long ago the most overdue conversation should have been looked at; 0 when none is overdue.',
    labels: ['lane'],
    of: 'shared',
  },

  // --- queues and workers -------------------------------------------------------------------------------------------
  queue_jobs: {
    type: 'gauge',
    help: 'Jobs of a queue by state.',
    labels: ['lane', 'queue', 'job_state'],
    of: 'shared',
  },
  queue_oldest_seconds: {
    type: 'gauge',
    help: 'Age of the job of a queue that is taken next; 0 when none waits.',
    labels: ['lane', 'queue'],
    of: 'shared',
  },
  jobs_taken_total: {
    type: 'counter',
    help: 'Jobs a worker has taken off a queue.',
    labels: ['queue'],
    of: 'process',
  },
  jobs_stalled_total: {
    type: 'counter',
    help: 'Jobs whose worker was lost and that another one got.',
    labels: ['queue'],
    of: 'process',
  },
  jobs_failed_total: {
    type: 'counter',
    help: 'Jobs that threw an error which was not a planned wait.',
    labels: ['queue'],
    of: 'process',
  },
  worker_jobs_active: {
    type: 'gauge',
    help: 'Jobs this process works on.',
    labels: ['queue'],
    of: 'process',
  },
  worker_slots: {
    type: 'gauge',
    help: 'Jobs this process could work on at a time.',
    labels: ['queue'],
    of: 'process',
  },
  claims_total: {
    type: 'counter',
    help: 'Attempts to claim a conversation.',
    labels: ['claim'],
    of: 'process',
  },
  fenced_writes_total: {
    type: 'counter',
    help: 'Writes of workers that had lost their claim, refused.',
    labels: ['verb'],
    of: 'process',
  },
  stuck_claims_total: {
    type: 'counter',
    help: 'Claims that ended in an error without progress.',
    labels: [],
    of: 'process',
  },
  reconciler_repairs_total: {
    type: 'counter',
    help: 'Lost wake-ups the reconciler made good.',
    labels: ['repair'],
    of: 'process',
  },

  // --- ingress, delivery, batches -----------------------------------------------------------------------------------
  messages_total: {
    type: 'counter',
    help: 'Messages handed in.',
    labels: ['source', 'received'],
    of: 'process',
  },
  webhook_requests_total: {
    type: 'counter',
    help: 'Webhook requests.',
    labels: ['source', 'webhook_result'],
    of: 'process',
  },
  webhook_duration_seconds: {
    type: 'histogram',
    help: 'Time until a webhook request was answered.',
    labels: ['source'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5],
    of: 'process',
  },
  deliveries_total: {
    type: 'counter',
    help: 'Steps of deliveries to the ticketing system; `pending` is a step that will be tried again.',
    labels: ['delivery_kind', 'delivery_status'],
    of: 'process',
  },
  delivery_duration_seconds: {
    type: 'histogram',
    help: 'Time of one step of a delivery: a send or a re-read.',
    labels: ['delivery_kind'],
    buckets: SECONDS,
    of: 'process',
  },
  deliveries_waiting: {
    type: 'gauge',
    help: 'Conversations with a text that has not been settled.',
    labels: ['lane'],
    of: 'shared',
  },
  deliveries_unclear: {
    type: 'gauge',
    help: 'Texts of which nobody knows whether the ticketing system has them: the dead letters.',
    labels: ['lane'],
    of: 'shared',
  },
  reprocess_cases_total: {
    type: 'counter',
    help: 'Cases of reprocess batches; how their turns ended stands in turns_total.',
    labels: ['case_result'],
    of: 'process',
  },

  // --- process and Redis --------------------------------------------------------------------------------------------
  build_info: {
    type: 'gauge',
    help: 'Always 1; the label says which version runs.',
    labels: ['version'],
    of: 'process',
  },
  process_start_time_seconds: {
    type: 'gauge',
    help: 'When the process was started, seconds since the epoch.',
    labels: [],
    of: 'process',
  },
  process_heap_bytes: { type: 'gauge', help: 'Used heap.', labels: [], of: 'process' },
  process_resident_bytes: { type: 'gauge', help: 'Resident memory.', labels: [], of: 'process' },
  process_cpu_seconds_total: {
    type: 'counter',
    help: 'Processor time used.',
    labels: [],
    of: 'process',
  },
  event_loop_delay_seconds: {
    type: 'gauge',
    help: 'Delay of the event loop since the last scrape.',
    labels: ['quantile'],
    of: 'process',
  },
  redis_round_trip_seconds: {
    type: 'gauge',
    help: 'Time of a ping at the scrape, on a connection that is in use.',
    labels: [],
    of: 'process',
  },
  redis_up: {
    type: 'gauge',
    help: '1 when Redis answered this process at the scrape.',
    labels: [],
    of: 'process',
  },
  shared_state_up: {
    type: 'gauge',
    help: '1 when the exporter could read the state of all at the scrape.',
    labels: [],
    of: 'shared',
  },
  redis_memory_bytes: { type: 'gauge', help: 'Memory Redis uses.', labels: [], of: 'shared' },
  redis_memory_limit_bytes: {
    type: 'gauge',
    help: 'Memory Redis may use: maxmemory, or that of its machine.',
    labels: [],
    of: 'shared',
  },
  redis_evicted_keys: {
    type: 'gauge',
    help: 'Keys Redis has evicted since it was started; must be 0.',
    labels: [],
    of: 'shared',
  },
  redis_delayed_fsyncs: {
    type: 'gauge',
    help: 'Writes of the append-only file that were late since Redis was started.',
    labels: [],
    of: 'shared',
  },
  redis_clients: { type: 'gauge', help: 'Connected clients.', labels: [], of: 'shared' },
  redis_setting_ok: {
    type: 'gauge',
    help: '1 when a setting is as the promises need it. No series when Redis does not tell.',
    labels: ['setting'],
    of: 'shared',
  },
  spans_dropped_total: {
    type: 'counter',
    help: 'Spans that could not be exported.',
    labels: [],
    of: 'process',
  },
} as const satisfies Record<string, MetricDefinition>;

export type MetricName = keyof typeof METRICS;
type NamesOf<Type extends MetricDefinition['type']> = {
  [Name in MetricName]: (typeof METRICS)[Name]['type'] extends Type ? Name : never;
}[MetricName];
export type CounterName = NamesOf<'counter'>;
export type GaugeName = NamesOf<'gauge'>;
export type HistogramName = NamesOf<'histogram'>;
/** The labels of a metric, all of them. */
export type LabelsOf<Name extends MetricName> = Record<
  (typeof METRICS)[Name]['labels'][number],
  string
>;

export const METRIC_NAMES = Object.keys(METRICS) as MetricName[];
export const PREFIX = 'turnkeeper_';

export function definitionOf(name: MetricName): MetricDefinition {
  return METRICS[name];
}
