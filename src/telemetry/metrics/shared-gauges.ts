import type { Park, QueueName } from '../../contracts/index.ts';
import type { GaugeName, LabelsOf } from './catalogue.ts';
import { METRIC_NAMES, METRICS } from './catalogue.ts';
import { LABELS } from './labels.ts';
import type { PrometheusMeter } from './prometheus-meter.ts';

export type JobState = (typeof LABELS.job_state.values)[number];
export type BlockedBy = (typeof LABELS.blocked_by.values)[number];

/** How many there are, and since when the oldest. Milliseconds since the epoch; unset when there is none. */
export type Standing = { count: number; oldestAt?: number };

/** What one lane holds, read without looking at single conversations. */
export type LaneState = {
  lane: string;
  jobs: Record<QueueName, Record<JobState, number> & { oldestAt?: number }>;
  conversationsOpen: number;
  /** When the reconciler should have looked at the most overdue conversation. */
  oldestDueAt?: number;
  parked: Record<Park['kind'], number>;
  blocked: Partial<Record<BlockedBy, number>>;
  oldestBlockedAt?: number;
  approvals: Standing & { nextExpiryAt?: number };
  deliveriesWaiting: number;
  deliveriesUnclear: number;
  unknownEffects: Standing;
};

export type RedisState = {
  memoryBytes: number;
  memoryLimitBytes: number;
  evictedKeys: number;
  delayedFsyncs: number;
  clients: number;
  /** As the promises need them; unset when Redis does not tell. */
  settings: Partial<Record<(typeof LABELS.setting.values)[number], boolean>>;
};

/** Reads the state of all. May reject. */
export interface SharedStateReader {
  /** Milliseconds since the epoch, by the clock of the records. */
  now(): number;
  lanes(): Promise<readonly LaneState[]>;
  redis(): Promise<RedisState>;
}

const SHARED = METRIC_NAMES.filter(
  (name): name is GaugeName => METRICS[name].of === 'shared' && name !== 'shared_state_up',
);

/**
 * Reports the state of all at every scrape. One process of a deployment does it, or every sum over processes counts
 * double.
 */
export function sharedGauges(meter: PrometheusMeter, reader: SharedStateReader): void {
  meter.onScrape(async () => {
    try {
      const [lanes, redis] = await Promise.all([reader.lanes(), reader.redis()]);
      for (const name of SHARED) meter.forget(name);
      for (const lane of lanes) reportLane(meter, lane, reader.now());
      reportRedis(meter, redis);
      meter.set('shared_state_up', {}, 1);
    } catch {
      // What cannot be read any more must not stand there as if it still held.
      for (const name of SHARED) meter.forget(name);
      meter.set('shared_state_up', {}, 0);
    }
  });
}

function reportLane(meter: PrometheusMeter, state: LaneState, now: number): void {
  const { lane, approvals } = state;
  const age = (at: number | undefined): number =>
    at === undefined ? 0 : Math.max(0, now - at) / 1_000;
  const set = <Name extends GaugeName>(
    name: Name,
    value: number,
    labels: Omit<LabelsOf<Name>, 'lane'> & object,
  ): void => meter.set(name, { ...labels, lane } as unknown as LabelsOf<Name>, value);

  for (const queue of Object.keys(state.jobs) as QueueName[]) {
    const { oldestAt, ...states } = state.jobs[queue];
    for (const [job_state, count] of Object.entries(states)) {
      set('queue_jobs', count, { queue, job_state });
    }
    set('queue_oldest_seconds', age(oldestAt), { queue });
  }
  for (const park of LABELS.park.values) set('turns_parked', state.parked[park], { park });
  for (const blocked_by of LABELS.blocked_by.values) {
    set('conversations_blocked', state.blocked[blocked_by] ?? 0, { blocked_by });
  }
  set('conversations_open', state.conversationsOpen, {});
  set('blocked_oldest_seconds', age(state.oldestBlockedAt), {});
  set('overdue_oldest_seconds', age(state.oldestDueAt), {});
  set('approvals_waiting', approvals.count, {});
  set('approvals_oldest_seconds', age(approvals.oldestAt), {});
  if (approvals.nextExpiryAt !== undefined) {
    set('approval_next_expiry_seconds', (approvals.nextExpiryAt - now) / 1_000, {});
  }
  set('deliveries_waiting', state.deliveriesWaiting, {});
  set('deliveries_unclear', state.deliveriesUnclear, {});
  set('effects_unknown', state.unknownEffects.count, {});
  set('effects_unknown_oldest_seconds', age(state.unknownEffects.oldestAt), {});
}

function reportRedis(meter: PrometheusMeter, redis: RedisState): void {
  meter.set('redis_memory_bytes', {}, redis.memoryBytes);
  meter.set('redis_memory_limit_bytes', {}, redis.memoryLimitBytes);
  meter.set('redis_evicted_keys', {}, redis.evictedKeys);
  meter.set('redis_delayed_fsyncs', {}, redis.delayedFsyncs);
  meter.set('redis_clients', {}, redis.clients);
  for (const setting of LABELS.setting.values) {
    const ok = redis.settings[setting];
    if (ok !== undefined) meter.set('redis_setting_ok', { setting }, ok ? 1 : 0);
  }
}
