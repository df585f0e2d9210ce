import { OF_LANE, type BoardSpec, type PanelSpec } from '../panels.ts';

function objective(
  title: string,
  about: string,
  metric: string,
  alert: string,
  board: PanelSpec['board'] & string,
  allowed: number,
): PanelSpec {
  return {
    title,
    about,
    kind: 'tile',
    unit: 'percentunit',
    queries: [
      { expr: `1 - turnkeeper:${metric}:ratio_rate1h`, legend: 'last hour' },
      { expr: `1 - turnkeeper:${metric}:ratio_rate3d`, legend: 'last 3 days' },
      { expr: `1 - turnkeeper:${metric}:ratio_rate3d / ${allowed}`, legend: 'budget left' },
    ],
    thresholds: [0.99, 0.5],
    alert,
    board,
    width: 8,
  };
}

/** One screen for the one on call. */
export const fine: BoardSpec = {
  uid: 'tk-fine',
  title: 'Is it fine?',
  about: 'Three objectives and five numbers. Green: go back to sleep.',
  variables: ['lane'],
  rows: [
    {
      title: 'Objectives',
      panels: [
        objective(
          'Turns without a fault of ours',
          'Objective 99 %.',
          'turn_faults',
          'TurnFaultsBurnRate',
          'tk-why',
          0.01,
        ),
        objective(
          'Answered within two minutes',
          'Objective 95 %.',
          'slow_answers',
          'CustomerWaitBurnRate',
          'tk-turns',
          0.05,
        ),
        objective(
          'Effects verified',
          'Objective 99 %.',
          'unverified_effects',
          'EffectsUnverifiedBurnRate',
          'tk-effects',
          0.01,
        ),
      ],
    },
    {
      title: 'Now',
      panels: [
        {
          title: 'Oldest message behind an open turn',
          about: 'How long a customer who wrote again has waited.',
          kind: 'tile',
          unit: 's',
          queries: [
            { expr: `max(turnkeeper_blocked_oldest_seconds{${OF_LANE}})`, legend: 'oldest' },
          ],
          thresholds: [600, 1_800],
          alert: 'ConversationBlockedTooLong',
          board: 'tk-turns',
          width: 5,
        },
        {
          title: 'Conversations blocked',
          about: 'Conversations in which a message waits behind an open turn.',
          kind: 'tile',
          unit: 'short',
          queries: [
            { expr: `sum(turnkeeper_conversations_blocked{${OF_LANE}})`, legend: 'blocked' },
          ],
          thresholds: [10, 100],
          board: 'tk-turns',
          width: 5,
        },
        {
          title: 'Approvals',
          about: 'Waiting for a person, and the age of the one that expires first.',
          kind: 'tile',
          unit: 'short',
          queries: [
            { expr: `sum(turnkeeper_approvals_waiting{${OF_LANE}})`, legend: 'waiting' },
            {
              expr: `max(turnkeeper_approvals_oldest_seconds{${OF_LANE}}) / 3600`,
              legend: 'oldest, hours',
            },
          ],
          thresholds: [10, 50],
          alert: 'ApprovalsAboutToExpire',
          board: 'tk-effects',
          width: 5,
        },
        {
          title: 'Effects nobody knows about',
          about: 'Must be 0: somebody has to look at each.',
          kind: 'tile',
          unit: 'short',
          queries: [{ expr: `sum(turnkeeper_effects_unknown{${OF_LANE}})`, legend: 'unknown' }],
          thresholds: [1, 1],
          alert: 'UnknownEffectsAge',
          board: 'tk-effects',
          width: 5,
        },
        {
          title: 'Redis',
          about: 'Memory in use, as a share of what there is.',
          kind: 'tile',
          unit: 'percentunit',
          queries: [
            {
              expr: 'max(turnkeeper_redis_memory_bytes / turnkeeper_redis_memory_limit_bytes)',
              legend: 'memory',
            },
          ],
          thresholds: [0.7, 0.8],
          alert: 'RedisMemoryHigh',
          board: 'tk-redis',
          width: 4,
        },
      ],
    },
  ],
};
