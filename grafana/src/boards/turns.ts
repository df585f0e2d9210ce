import { OF_LANE, OF_SOURCE, quantiles, RATE, rateBy, type BoardSpec } from '../panels.ts';

export const turns: BoardSpec = {
  uid: 'tk-turns',
  title: 'Turns and queues',
  about: 'How fast turns are answered, and what they wait for.',
  variables: ['source', 'lane'],
  rows: [
    {
      title: 'Turns',
      panels: [
        {
          title: 'Turns and their failures',
          about: 'Ended turns and those that failed, a second.',
          kind: 'lines',
          unit: 'ops',
          queries: [
            { expr: `sum(rate(turnkeeper_turns_total{${OF_SOURCE}}[${RATE}]))`, legend: 'all' },
            {
              expr: `sum(rate(turnkeeper_turns_total{${OF_SOURCE}, outcome="failed"}[${RATE}]))`,
              legend: 'failed',
            },
          ],
        },
        {
          title: 'Customer wait',
          about: 'From the acceptance of a message to the end of its turn.',
          kind: 'lines',
          unit: 's',
          queries: quantiles('turnkeeper_customer_wait_seconds', OF_SOURCE),
          alert: 'CustomerWaitBurnRate',
          exemplars: true,
        },
        {
          title: 'Turn duration',
          about: 'From the start of a turn to its end, waits included. A point is a trace.',
          kind: 'heat',
          unit: 's',
          queries: [
            {
              expr: `sum by (le) (rate(turnkeeper_turn_duration_seconds_bucket{${OF_SOURCE}}[${RATE}]))`,
              legend: '{{le}}',
            },
          ],
          exemplars: true,
        },
        {
          title: 'Where turns spend their time',
          about: 'Seconds of turns in each phase, a second.',
          kind: 'stacked',
          unit: 'short',
          queries: [
            { expr: rateBy('turnkeeper_turn_phase_seconds_total', 'phase'), legend: '{{phase}}' },
          ],
        },
        {
          title: 'Wait in the mailbox',
          about: 'From acceptance to the start of the turn.',
          kind: 'lines',
          unit: 's',
          queries: quantiles('turnkeeper_turn_queue_wait_seconds', OF_SOURCE),
          exemplars: true,
        },
        {
          title: 'Hand-off to the next turn of a conversation',
          about: 'From the end of a turn to the start of the next one, where a message waited.',
          kind: 'lines',
          unit: 's',
          queries: quantiles('turnkeeper_turn_handoff_seconds', OF_SOURCE),
        },
        {
          title: 'Rounds of a turn',
          about: 'Model calls it took.',
          kind: 'lines',
          unit: 'short',
          queries: quantiles('turnkeeper_turn_rounds', OF_SOURCE),
        },
        {
          title: 'Tool calls of a turn',
          about: 'Calls it took.',
          kind: 'lines',
          unit: 'short',
          queries: quantiles('turnkeeper_turn_tool_calls', OF_SOURCE),
        },
        {
          title: 'Progress',
          about: 'Steps of all turns, a second. 0 with a backlog: nothing moves.',
          kind: 'lines',
          unit: 'ops',
          queries: [{ expr: `sum(rate(turnkeeper_turn_events_total[${RATE}]))`, legend: 'steps' }],
          alert: 'NoProgressWithBacklog',
        },
      ],
    },
    {
      title: 'Waiting',
      panels: [
        {
          title: 'Parked turns',
          about: 'Turns that wait without a worker, by what they wait for.',
          kind: 'stacked',
          unit: 'short',
          queries: [
            { expr: `sum by (park) (turnkeeper_turns_parked{${OF_LANE}})`, legend: '{{park}}' },
          ],
        },
        {
          title: 'Parks',
          about: 'Turns parked, a second.',
          kind: 'stacked',
          unit: 'ops',
          queries: [{ expr: rateBy('turnkeeper_parks_total', 'park'), legend: '{{park}}' }],
        },
        {
          title: 'How long parks last',
          about: 'p95 by what was waited for.',
          kind: 'lines',
          unit: 's',
          queries: [
            {
              expr: `histogram_quantile(0.95, sum by (le, park) (rate(turnkeeper_park_seconds_bucket[${RATE}])))`,
              legend: '{{park}}',
            },
          ],
        },
        {
          title: 'Blocked conversations',
          about: 'A message waits behind an open turn, by what that turn does.',
          kind: 'stacked',
          unit: 'short',
          queries: [
            {
              expr: `sum by (blocked_by) (turnkeeper_conversations_blocked{${OF_LANE}})`,
              legend: '{{blocked_by}}',
            },
          ],
          alert: 'ConversationBlockedTooLong',
        },
        {
          title: 'Oldest waiting',
          about: 'Oldest message behind an open turn, and how overdue the reconciler is.',
          kind: 'lines',
          unit: 's',
          queries: [
            { expr: `max(turnkeeper_blocked_oldest_seconds{${OF_LANE}})`, legend: 'behind a turn' },
            { expr: `max(turnkeeper_overdue_oldest_seconds{${OF_LANE}})`, legend: 'overdue' },
          ],
        },
        {
          title: 'Open conversations',
          about: 'Conversations with a message or an open turn.',
          kind: 'lines',
          unit: 'short',
          queries: [
            {
              expr: `sum by (lane) (turnkeeper_conversations_open{${OF_LANE}})`,
              legend: 'lane {{lane}}',
            },
          ],
        },
      ],
    },
    {
      title: 'Queues',
      panels: [
        {
          title: 'Jobs by state',
          about: 'Waiting, active and delayed jobs of each queue.',
          kind: 'lines',
          unit: 'short',
          queries: [
            {
              expr: `sum by (queue, job_state) (turnkeeper_queue_jobs{${OF_LANE}})`,
              legend: '{{queue}} {{job_state}}',
            },
          ],
        },
        {
          title: 'Oldest job',
          about: 'Age of the job that is taken next.',
          kind: 'lines',
          unit: 's',
          queries: [
            {
              expr: `max by (queue) (turnkeeper_queue_oldest_seconds{${OF_LANE}})`,
              legend: '{{queue}}',
            },
          ],
          alert: 'EnqueuedButNeverTaken',
        },
        {
          title: 'Jobs taken',
          about: 'Jobs workers have taken, a second.',
          kind: 'lines',
          unit: 'ops',
          queries: [{ expr: rateBy('turnkeeper_jobs_taken_total', 'queue'), legend: '{{queue}}' }],
          alert: 'EnqueuedButNeverTaken',
        },
      ],
    },
  ],
};
