import { OF_LANE, quantile, quantiles, RATE, rateBy, type BoardSpec } from '../panels.ts';

export const effects: BoardSpec = {
  uid: 'tk-effects',
  title: 'Verification and effects',
  about: 'What the agent did, what the world says about it, and what people decided.',
  variables: ['lane'],
  rows: [
    {
      title: 'Effects',
      panels: [
        {
          title: 'Effects by status',
          about: 'Writes that reached a status of the ledger, a second.',
          kind: 'stacked',
          unit: 'ops',
          queries: [
            {
              expr: rateBy('turnkeeper_effects_total', 'effect_status'),
              legend: '{{effect_status}}',
            },
          ],
        },
        {
          title: 'Repeats prevented',
          about: 'Writes the ledger held back: duplicates, conflicts, possible repeats.',
          kind: 'stacked',
          unit: 'ops',
          queries: [
            {
              expr: rateBy('turnkeeper_effect_repeats_total', 'tool, refusal'),
              legend: '{{tool}} {{refusal}}',
            },
          ],
        },
        {
          title: 'Unknown effects',
          about: 'How many, and the age of the oldest in minutes.',
          kind: 'lines',
          unit: 'short',
          queries: [
            { expr: `sum(turnkeeper_effects_unknown{${OF_LANE}})`, legend: 'unknown' },
            {
              expr: `max(turnkeeper_effects_unknown_oldest_seconds{${OF_LANE}}) / 60`,
              legend: 'oldest, minutes',
            },
          ],
          alert: 'UnknownEffectsAge',
        },
      ],
    },
    {
      title: 'Verification',
      panels: [
        {
          title: 'From "the tool said" to "the world said"',
          about: 'p95 of the gap by tool.',
          kind: 'lines',
          unit: 's',
          queries: [
            { expr: 'turnkeeper:verification_gap_seconds:p95_rate15m', legend: '{{tool}}' },
          ],
          alert: 'VerificationGapGrows',
          exemplars: true,
        },
        {
          title: 'The gap now',
          about: 'Median and tails over the time shown.',
          kind: 'lines',
          unit: 's',
          queries: quantiles('turnkeeper_verification_gap_seconds'),
          exemplars: true,
        },
        {
          title: 'Last verdict',
          about: 'How verifications ended; anything but landed needs a look.',
          kind: 'stacked',
          unit: 'ops',
          queries: [
            {
              expr: rateBy('turnkeeper_verifications_total', 'tool, verdict'),
              legend: '{{tool}} {{verdict}}',
            },
          ],
          alert: 'EffectsUnverifiedBurnRate',
        },
        {
          title: 'Re-reads',
          about: 'Every re-read and what it said.',
          kind: 'stacked',
          unit: 'ops',
          queries: [
            {
              expr: rateBy('turnkeeper_verification_reads_total', 'verdict'),
              legend: '{{verdict}}',
            },
          ],
        },
        {
          title: 'Re-reads needed',
          about: 'p95 by tool; 4 is the default limit.',
          kind: 'lines',
          unit: 'short',
          queries: [
            { expr: quantile(0.95, 'turnkeeper_verification_reads', 'tool'), legend: '{{tool}}' },
          ],
        },
        {
          title: 'Time of a re-read',
          about: 'p95 by tool.',
          kind: 'lines',
          unit: 's',
          queries: [
            {
              expr: quantile(0.95, 'turnkeeper_verification_read_duration_seconds', 'tool'),
              legend: '{{tool}}',
            },
          ],
        },
      ],
    },
    {
      title: 'Tools',
      panels: [
        {
          title: 'Tool calls by result',
          about: 'Settled and rejected calls, a second.',
          kind: 'stacked',
          unit: 'ops',
          queries: [
            {
              expr: rateBy('turnkeeper_tool_calls_total', 'tool, tool_result'),
              legend: '{{tool}} {{tool_result}}',
            },
          ],
          width: 12,
        },
        {
          title: 'Time of a tool call',
          about: 'p95 by tool.',
          kind: 'lines',
          unit: 's',
          queries: [
            {
              expr: quantile(0.95, 'turnkeeper_tool_call_duration_seconds', 'tool'),
              legend: '{{tool}}',
            },
          ],
          exemplars: true,
          width: 12,
        },
      ],
    },
    {
      title: 'People',
      panels: [
        {
          title: 'Approvals asked for',
          about: 'By tool, a second.',
          kind: 'lines',
          unit: 'ops',
          queries: [
            { expr: rateBy('turnkeeper_approvals_requested_total', 'tool'), legend: '{{tool}}' },
          ],
          width: 6,
        },
        {
          title: 'Decisions',
          about: 'Approved, rejected, expired and fallen away.',
          kind: 'stacked',
          unit: 'ops',
          queries: [
            {
              expr: rateBy('turnkeeper_approvals_decided_total', 'decision'),
              legend: '{{decision}}',
            },
          ],
          width: 6,
        },
        {
          title: 'Accepted share',
          about: 'Of a day. Above 95 % approving is a habit.',
          kind: 'tile',
          unit: 'percentunit',
          queries: [{ expr: 'turnkeeper:approvals:accepted_ratio_rate1d', legend: 'accepted' }],
          thresholds: [0.9, 0.95],
          alert: 'ApprovalsAcceptedAlmostAlways',
          width: 4,
        },
        {
          title: 'Time to decide',
          about: 'p50 by decision.',
          kind: 'lines',
          unit: 's',
          queries: [
            {
              expr: `histogram_quantile(0.5, sum by (le, decision) (rate(turnkeeper_approval_wait_seconds_bucket[${RATE}])))`,
              legend: '{{decision}}',
            },
          ],
          width: 8,
        },
        {
          title: 'Waiting approvals',
          about: 'How many, and the age of the one that expires first in hours.',
          kind: 'lines',
          unit: 'short',
          queries: [
            { expr: `sum(turnkeeper_approvals_waiting{${OF_LANE}})`, legend: 'waiting' },
            {
              expr: `max(turnkeeper_approvals_oldest_seconds{${OF_LANE}}) / 3600`,
              legend: 'oldest, hours',
            },
          ],
          width: 12,
        },
        {
          title: 'Next expiry',
          about: 'Time until an approval expires. Empty when none waits.',
          kind: 'tile',
          unit: 's',
          queries: [
            {
              expr: `min(turnkeeper_approval_next_expiry_seconds{${OF_LANE}})`,
              legend: 'next expiry',
            },
          ],
          thresholds: [7_200, 3_600],
          alert: 'ApprovalsAboutToExpire',
          width: 12,
        },
      ],
    },
  ],
};
