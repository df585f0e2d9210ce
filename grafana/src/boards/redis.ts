import { rateBy, type BoardSpec } from '../panels.ts';

export const redis: BoardSpec = {
  uid: 'tk-redis',
  title: 'Redis and workers',
  about: 'The machinery: workers, claims, repairs, processes and Redis.',
  variables: [],
  rows: [
    {
      title: 'Workers',
      panels: [
        {
          title: 'Slots in use',
          about: 'Share of the places a queue has over all workers.',
          kind: 'lines',
          unit: 'percentunit',
          queries: [
            {
              expr: 'sum by (queue) (turnkeeper_worker_jobs_active) / sum by (queue) (turnkeeper_worker_slots)',
              legend: '{{queue}}',
            },
          ],
        },
        {
          title: 'Claims',
          about: 'Attempts to claim a conversation and how they came out.',
          kind: 'stacked',
          unit: 'ops',
          queries: [{ expr: rateBy('turnkeeper_claims_total', 'claim'), legend: '{{claim}}' }],
        },
        {
          title: 'Fenced writes and stuck claims',
          about:
            'Late writers refused, and claims that ended in an error. Rare after a deploy, else none.',
          kind: 'lines',
          unit: 'ops',
          queries: [
            { expr: rateBy('turnkeeper_fenced_writes_total', 'verb'), legend: 'fenced {{verb}}' },
            { expr: 'sum(rate(turnkeeper_stuck_claims_total[$__rate_interval]))', legend: 'stuck' },
          ],
          alert: 'TurnFaultsBurnRate',
        },
        {
          title: 'Stalled and failed jobs',
          about: 'Jobs whose worker was lost, and jobs that threw.',
          kind: 'lines',
          unit: 'ops',
          queries: [
            { expr: rateBy('turnkeeper_jobs_stalled_total', 'queue'), legend: 'stalled {{queue}}' },
            { expr: rateBy('turnkeeper_jobs_failed_total', 'queue'), legend: 'failed {{queue}}' },
          ],
        },
        {
          title: 'Repairs of the reconciler',
          about: 'Lost wake-ups made good.',
          kind: 'stacked',
          unit: 'ops',
          queries: [
            { expr: rateBy('turnkeeper_reconciler_repairs_total', 'repair'), legend: '{{repair}}' },
          ],
        },
        {
          title: 'Spans that could not be exported',
          about: 'The receiver of traces is away or slow; turns do not notice.',
          kind: 'lines',
          unit: 'ops',
          queries: [
            {
              expr: 'sum(rate(turnkeeper_spans_dropped_total[$__rate_interval]))',
              legend: 'dropped',
            },
          ],
        },
      ],
    },
    {
      title: 'Processes',
      panels: [
        {
          title: 'Event loop delay',
          about: 'By process. Above 2.5 s a worker loses its locks.',
          kind: 'lines',
          unit: 's',
          queries: [
            { expr: 'turnkeeper_event_loop_delay_seconds', legend: '{{instance}} {{quantile}}' },
          ],
        },
        {
          title: 'Memory',
          about: 'Heap and resident memory by process.',
          kind: 'lines',
          unit: 'bytes',
          queries: [
            { expr: 'turnkeeper_process_heap_bytes', legend: '{{instance}} heap' },
            { expr: 'turnkeeper_process_resident_bytes', legend: '{{instance}} resident' },
          ],
        },
        {
          title: 'Processor',
          about: 'Seconds of processor time a second, by process.',
          kind: 'lines',
          unit: 'short',
          queries: [
            {
              expr: 'rate(turnkeeper_process_cpu_seconds_total[$__rate_interval])',
              legend: '{{instance}}',
            },
          ],
        },
        {
          title: 'Versions',
          about: 'Processes by version: two of them during a deploy.',
          kind: 'lines',
          unit: 'short',
          queries: [{ expr: 'count by (version) (turnkeeper_build_info)', legend: '{{version}}' }],
          width: 12,
        },
        {
          title: 'Started',
          about: 'When each process was started.',
          kind: 'tile',
          unit: 'dateTimeFromNow',
          queries: [
            { expr: '1000 * turnkeeper_process_start_time_seconds', legend: '{{instance}}' },
          ],
          width: 12,
        },
      ],
    },
    {
      title: 'Redis',
      panels: [
        {
          title: 'Reachable',
          about: '1 where Redis answers: by process, and for the exporter of shared state.',
          kind: 'lines',
          unit: 'short',
          queries: [
            { expr: 'turnkeeper_redis_up', legend: '{{instance}}' },
            { expr: 'turnkeeper_shared_state_up', legend: 'exporter' },
          ],
          alert: 'ExporterDown',
        },
        {
          title: 'Round trip',
          about: 'A ping at each scrape, by process.',
          kind: 'lines',
          unit: 's',
          queries: [{ expr: 'turnkeeper_redis_round_trip_seconds', legend: '{{instance}}' }],
        },
        {
          title: 'Memory',
          about: 'In use and the limit.',
          kind: 'lines',
          unit: 'bytes',
          queries: [
            { expr: 'turnkeeper_redis_memory_bytes', legend: 'used' },
            { expr: 'turnkeeper_redis_memory_limit_bytes', legend: 'limit' },
          ],
          alert: 'RedisMemoryHigh',
        },
        {
          title: 'Evicted keys',
          about: 'Must be 0.',
          kind: 'tile',
          unit: 'short',
          queries: [{ expr: 'turnkeeper_redis_evicted_keys', legend: 'evicted' }],
          thresholds: [1, 1],
          alert: 'RedisEvictions',
          width: 6,
        },
        {
          title: 'Late writes to disk',
          about: 'Delayed fsyncs of the append-only file, in 15 minutes.',
          kind: 'lines',
          unit: 'short',
          queries: [{ expr: 'delta(turnkeeper_redis_delayed_fsyncs[15m])', legend: 'late' }],
          width: 6,
        },
        {
          title: 'Settings',
          about: '1 where a setting is as the promises need it.',
          kind: 'lines',
          unit: 'short',
          queries: [{ expr: 'turnkeeper_redis_setting_ok', legend: '{{setting}}' }],
          alert: 'RedisNotDurable',
          width: 6,
        },
        {
          title: 'Clients',
          about: 'Connections to Redis.',
          kind: 'lines',
          unit: 'short',
          queries: [{ expr: 'turnkeeper_redis_clients', legend: 'clients' }],
          width: 6,
        },
      ],
    },
  ],
};
