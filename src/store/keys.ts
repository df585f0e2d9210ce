/**
 * Every Redis key of ours, spelled once. All keys of a lane share its hash tag, so that one script may touch them all
 * in a cluster: `{tk0}:<kind>:<id>` (or `{tk0}:<kind>` for the indexes). BullMQ's keys use the same tag as prefix.
 *
 * Durations: a key without a time-out lives until the step named here removes it.
 */
export const KEY_KINDS = {
  /** hash, by conversation: open turn, claim token, epoch, owner, stuck counts, account, the stop that was asked for. `conversationMs` after its last turn. */
  conv: 'conv',
  /** list of AcceptedMessage, by conversation: accepted, not yet answered. Popped by commit-turn. */
  mail: 'mail',
  /** string, by message id: the conversation, then the turn. Without time-out until its turn has ended. */
  msg: 'msg',
  /** string, by delivery id of the source: a hand-over that was answered. `claimsMs`. */
  recv: 'recv',
  /** hash, by turn: head of the record. `turnsMs` after its end, see `ended`. */
  turn: 'turn',
  /** list of TurnEvent, by turn: the record. `turnsMs` after its end. */
  events: 'events',
  /** list of HistoryEntry, by conversation: what a model sees of earlier turns. As `conv`. */
  hist: 'hist',
  /** hash resource -> Fact, by conversation. As `conv`. */
  facts: 'facts',
  /** hash, by operation: one row of the ledger. `ledgerMs` once it is settled, without time-out while unknown. */
  op: 'op',
  /** hash digest of tool and resource -> operations, each followed by a comma; by conversation. As `op`. */
  targets: 'targets',
  /** hash, by approval. `turnsMs` after its turn ended. */
  approval: 'approval',
  /** sorted set of pending approvals by expiry. */
  approvals: 'approvals',
  /** hash, by delivery of ours. `turnsMs` after it was settled. */
  delivery: 'delivery',
  /** list of unsettled delivery ids, by conversation, oldest first. */
  outbox: 'outbox',
  /** set of the ids the ticketing system gave to what we posted, by conversation. `turnsMs` after the last one. */
  posted: 'posted',
  /** list of deliveries of sources that were genuine and made no sense, newest first, in the first lane. 1,000 at most. */
  deadletters: 'deadletters',
  /** sorted set of unclear deliveries by time, for an operator. */
  unclear: 'unclear',
  /** sorted set of conversations with a message or an open turn, by the time at which the reconciler should look. */
  due: 'due',
  /** sorted set of conversations with an unsettled delivery, by the time at which the reconciler should look. */
  undelivered: 'undelivered',
  /** sorted set of ended turns by their end; their records are dropped by age and count from here. */
  ended: 'ended',
  /** sorted set of conversations by their last turn's end, where nothing waited behind it; dropped by age from here. */
  quiet: 'quiet',
  /** hash, by batch, in the first lane: what is to be reprocessed, by whom, and how far it is. `turnsMs`. */
  batch: 'batch',
  /** list, by batch, in the first lane: its cases as planned, in order. `turnsMs`. */
  plan: 'plan',
  /** list, by conversation: cases of batches that wait behind its messages. */
  cases: 'cases',
  /** string, by batch and turn: `queued`, then how the case came out. `turnsMs`. */
  case: 'case',
  /** list, by batch: how its cases of this lane came out, in that order. `turnsMs`. */
  casesdone: 'casesdone',
  /** hash outcome/reason -> count, by batch: the same, counted. `turnsMs`. */
  casecount: 'casecount',
  /** hash operation -> amount, by customer, day and currency: what was moved for them. Two days. */
  stake: 'stake',
  /** hash account of a model -> until when it is limited, in milliseconds since the epoch. An hour. */
  limited: 'limited',
  /** channel, not a key: names turns that were asked to stop, for the workers that have them. */
  stops: 'stops',
  /** sorted set of conversations in which a message waits behind the open turn, by its acceptance. */
  behind: 'behind',
  /** sorted set, by kind of park: conversations whose turn waits, by the time they were parked. */
  parked: 'parked',
  /** sorted set of operations nobody knows the outcome of, by the time of that finding. */
  unknown: 'unknown',
  /** string, by worker process: set while it lives. Seconds. */
  worker: 'worker',
  /** list of audit records, in the first lane: what operators did, each chained to the one before it. */
  audit: 'audit',
  /** hash, in the first lane: number and hash of the last audit record. */
  audithead: 'audithead',
  /** hash, by key id, in the first lane: an API key, hashed. */
  apikey: 'apikey',
  /** set of API key ids, in the first lane. */
  apikeys: 'apikeys',
  /** string, by API key or address: requests of the current minute. 60 s. */
  rate: 'rate',
  /** string, by source: since when the next sweep looks, in milliseconds since the epoch. */
  sweep: 'sweep',
  /** string, by source: set while somebody sweeps it. */
  sweeping: 'sweeping',
  /** string: written to see whether Redis takes writes. 10 s. */
  probe: 'probe',
  /** hash: what was fixed at the first start, such as the number of lanes. */
  meta: 'meta',
} as const;
export type KeyKind = keyof typeof KEY_KINDS;

/** The hash tag of a lane; root of all its keys and prefix of its queues. */
export function laneTag(prefix: string, lane: number): string {
  return `{${prefix}${lane}}`;
}

export function key(tag: string, kind: KeyKind, id?: string): string {
  return id === undefined ? `${tag}:${kind}` : `${tag}:${kind}:${id}`;
}
