import { OF_LANE, OF_SOURCE, quantile, RATE, rateBy, type BoardSpec } from '../panels.ts';

export const ingress: BoardSpec = {
  uid: 'tk-ingress',
  title: 'Ingress and delivery',
  about: 'What comes in, what goes out, and what came twice.',
  variables: ['source', 'lane'],
  rows: [
    {
      title: 'In',
      panels: [
        {
          title: 'Messages',
          about: 'Accepted, known and refused messages, a second.',
          kind: 'stacked',
          unit: 'ops',
          queries: [
            {
              expr: rateBy('turnkeeper_messages_total', 'source, received', OF_SOURCE),
              legend: '{{source}} {{received}}',
            },
          ],
        },
        {
          title: 'Webhook requests by result',
          about: 'A second.',
          kind: 'stacked',
          unit: 'ops',
          queries: [
            {
              expr: rateBy(
                'turnkeeper_webhook_requests_total',
                'source, webhook_result',
                OF_SOURCE,
              ),
              legend: '{{source}} {{webhook_result}}',
            },
          ],
        },
        {
          title: 'Wrong signatures',
          about: 'In 15 minutes. Somebody changed a secret, or forges.',
          kind: 'lines',
          unit: 'short',
          queries: [
            {
              expr: `sum by (source) (increase(turnkeeper_webhook_requests_total{${OF_SOURCE}, webhook_result=~"no_secret|missing_signature|bad_signature"}[15m]))`,
              legend: '{{source}}',
            },
          ],
          alert: 'WebhookSignatureFailures',
        },
        {
          title: 'Time to answer a webhook',
          about: 'p99 by source; senders give up after some seconds.',
          kind: 'lines',
          unit: 's',
          queries: [
            {
              expr: quantile(0.99, 'turnkeeper_webhook_duration_seconds', 'source', OF_SOURCE),
              legend: '{{source}}',
            },
          ],
          width: 12,
        },
        {
          title: 'Reprocessed cases',
          about: 'Cases that batches started or passed over, a second.',
          kind: 'stacked',
          unit: 'ops',
          queries: [
            {
              expr: rateBy('turnkeeper_reprocess_cases_total', 'case_result'),
              legend: '{{case_result}}',
            },
          ],
          width: 12,
        },
      ],
    },
    {
      title: 'Out',
      panels: [
        {
          title: 'Deliveries',
          about: 'Steps by what was sent and how it went, a second.',
          kind: 'stacked',
          unit: 'ops',
          queries: [
            {
              expr: rateBy('turnkeeper_deliveries_total', 'delivery_kind, delivery_status'),
              legend: '{{delivery_kind}} {{delivery_status}}',
            },
          ],
        },
        {
          title: 'Time of a delivery step',
          about: 'p95 by what is sent.',
          kind: 'lines',
          unit: 's',
          queries: [
            {
              expr: `histogram_quantile(0.95, sum by (le, delivery_kind) (rate(turnkeeper_delivery_duration_seconds_bucket[${RATE}])))`,
              legend: '{{delivery_kind}}',
            },
          ],
        },
        {
          title: 'Not delivered',
          about: 'Conversations with a text on its way, and texts nobody knows about.',
          kind: 'lines',
          unit: 'short',
          queries: [
            { expr: `sum(turnkeeper_deliveries_waiting{${OF_LANE}})`, legend: 'on its way' },
            { expr: `sum(turnkeeper_deliveries_unclear{${OF_LANE}})`, legend: 'unclear' },
          ],
          alert: 'DeadLetters',
        },
      ],
    },
  ],
};
