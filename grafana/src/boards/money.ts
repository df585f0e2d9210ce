import { OF_SOURCE, quantile, RATE, rateBy, type BoardSpec } from '../panels.ts';

export const money: BoardSpec = {
  uid: 'tk-money',
  title: 'Models and money',
  about: 'What models answer, how fast, and what it costs.',
  variables: ['source'],
  rows: [
    {
      title: 'Money',
      panels: [
        {
          title: 'Cost of the last hour',
          about: 'Dollars of all model calls.',
          kind: 'tile',
          unit: 'currencyUSD',
          queries: [{ expr: 'turnkeeper:model_cost_dollars:increase1h', legend: 'last hour' }],
          thresholds: [10, 20],
          alert: 'CostPerHour',
          width: 6,
        },
        {
          title: 'Cost of a turn',
          about: 'Dollars of all model calls for each turn that ended.',
          kind: 'lines',
          unit: 'currencyUSD',
          queries: [
            {
              expr: `sum(rate(turnkeeper_model_cost_dollars_total[${RATE}])) / sum(rate(turnkeeper_turns_total[${RATE}]))`,
              legend: 'per turn',
            },
          ],
          width: 9,
        },
        {
          title: 'Cost by model',
          about: 'Dollars an hour.',
          kind: 'stacked',
          unit: 'currencyUSD',
          queries: [
            {
              expr: `3600 * ${rateBy('turnkeeper_model_cost_dollars_total', 'provider, model')}`,
              legend: '{{provider}} {{model}}',
            },
          ],
          alert: 'CostPerHour',
          width: 9,
        },
      ],
    },
    {
      title: 'Models',
      panels: [
        {
          title: 'Model calls by result',
          about: 'Answers and every way a call failed, a second.',
          kind: 'stacked',
          unit: 'ops',
          queries: [
            {
              expr: rateBy('turnkeeper_model_calls_total', 'model_result'),
              legend: '{{model_result}}',
            },
          ],
        },
        {
          title: 'Time of a model call',
          about: 'p50 and p95 by model.',
          kind: 'lines',
          unit: 's',
          queries: [
            {
              expr: quantile(0.5, 'turnkeeper_model_call_duration_seconds', 'model'),
              legend: '{{model}} p50',
            },
            {
              expr: quantile(0.95, 'turnkeeper_model_call_duration_seconds', 'model'),
              legend: '{{model}} p95',
            },
          ],
          exemplars: true,
        },
        {
          title: 'Tokens',
          about: 'Read and written, a second.',
          kind: 'stacked',
          unit: 'ops',
          queries: [
            {
              expr: rateBy('turnkeeper_model_tokens_total', 'model, token_kind'),
              legend: '{{model}} {{token_kind}}',
            },
          ],
        },
        {
          title: 'Turns a failing model ended',
          about: 'By reason and source.',
          kind: 'stacked',
          unit: 'ops',
          queries: [
            {
              expr: rateBy(
                'turnkeeper_turns_total',
                'stop_reason',
                `${OF_SOURCE}, stop_reason=~"model_.*|max_tokens|unknown_stop_reason|empty_reply|invalid_proposal|silence|context_overflow"`,
              ),
              legend: '{{stop_reason}}',
            },
          ],
          alert: 'TurnFaultsBurnRate',
        },
        {
          title: 'Budgets that ran out',
          about: 'Turns that ended on an account.',
          kind: 'stacked',
          unit: 'ops',
          queries: [
            {
              expr: rateBy(
                'turnkeeper_turns_total',
                'stop_reason',
                `${OF_SOURCE}, outcome=~"budget_exhausted|timed_out"`,
              ),
              legend: '{{stop_reason}}',
            },
          ],
          alert: 'StopReasonShareRises',
        },
      ],
    },
    {
      title: 'Knowledge',
      panels: [
        {
          title: 'Searches by verdict',
          about:
            'Searches in the documents, a second; `no_result` answers with the menu. Empty without documents.',
          kind: 'stacked',
          unit: 'ops',
          queries: [
            {
              expr: rateBy('turnkeeper_knowledge_searches_total', 'gate_verdict'),
              legend: '{{gate_verdict}}',
            },
            {
              expr: rateBy('turnkeeper_knowledge_failures_total', 'search_part'),
              legend: '{{search_part}} failed',
            },
          ],
          width: 6,
        },
        {
          title: 'Best score at the gate',
          about: 'p10 and p50. From 0.72 on a passage is shown to the model.',
          kind: 'lines',
          unit: 'short',
          queries: [
            { expr: quantile(0.1, 'turnkeeper_knowledge_best_score', ''), legend: 'p10' },
            { expr: quantile(0.5, 'turnkeeper_knowledge_best_score', ''), legend: 'p50' },
          ],
          width: 6,
        },
        {
          title: 'Time of a search',
          about: 'p95 of recall and of reranking.',
          kind: 'lines',
          unit: 's',
          queries: [
            {
              expr: quantile(0.95, 'turnkeeper_knowledge_part_seconds', 'search_part'),
              legend: '{{search_part}} p95',
            },
          ],
          width: 6,
        },
        {
          title: 'Recalled, and what it cost',
          about:
            'Passages a search recalled, on average (of 20), and dollars an hour for embedding questions.',
          kind: 'lines',
          unit: 'short',
          queries: [
            {
              expr: `sum(rate(turnkeeper_knowledge_candidates_sum[${RATE}])) / sum(rate(turnkeeper_knowledge_candidates_count[${RATE}]))`,
              legend: 'passages',
            },
            {
              expr: `3600 * sum(rate(turnkeeper_knowledge_cost_dollars_total[${RATE}]))`,
              legend: 'dollars an hour',
            },
          ],
          width: 6,
        },
      ],
    },
  ],
};
