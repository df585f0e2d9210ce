import { OF_SOURCE, RATE, rateBy, type BoardSpec } from '../panels.ts';

const turns = 'turnkeeper_turns_total';

/** The front page: what the agent's turns end with. */
export const why: BoardSpec = {
  uid: 'tk-why',
  title: 'Why agents stop',
  about: 'Outcomes and stop reasons of turns, what changed, and where to look next.',
  variables: ['source'],
  rows: [
    {
      title: 'Outcomes',
      panels: [
        {
          title: 'Turns by outcome',
          about: 'Turns that ended, a second. Most should be completed.',
          kind: 'stacked',
          unit: 'ops',
          queries: [{ expr: rateBy(turns, 'outcome', OF_SOURCE), legend: '{{outcome}}' }],
          alert: 'TurnFaultsBurnRate',
          width: 12,
        },
        {
          title: 'Handed over to people',
          about: 'Share of turns that ended otherwise than completed, by source.',
          kind: 'lines',
          unit: 'percentunit',
          queries: [
            {
              expr: `turnkeeper:escalations:ratio_rate15m{${OF_SOURCE}}`,
              legend: '{{source}}',
            },
          ],
          alert: 'StopReasonShareRises',
          width: 6,
        },
        {
          title: 'Turns that ended',
          about: 'In the time shown.',
          kind: 'tile',
          unit: 'short',
          queries: [{ expr: `sum(increase(${turns}{${OF_SOURCE}}[$__range]))`, legend: 'turns' }],
          board: 'tk-turns',
          width: 6,
        },
      ],
    },
    {
      title: 'Stop reasons',
      panels: [
        {
          title: 'Stop reasons but replied',
          about: 'The six most frequent reasons beside the plain reply, a second.',
          kind: 'stacked',
          unit: 'ops',
          queries: [
            {
              expr: `topk(6, ${rateBy(turns, 'outcome, stop_reason', `${OF_SOURCE}, stop_reason!="replied"`)})`,
              legend: '{{outcome}} / {{stop_reason}}',
            },
          ],
          width: 12,
        },
        {
          title: 'Stop reasons in the time shown',
          about: 'All of them, most frequent first.',
          kind: 'bars',
          unit: 'short',
          queries: [
            {
              expr: `sort_desc(sum by (stop_reason) (increase(${turns}{${OF_SOURCE}}[$__range])))`,
              legend: '{{stop_reason}}',
            },
          ],
          width: 12,
        },
        {
          title: 'Stop reasons by source',
          about: 'Whether a reason belongs to one ticketing system.',
          kind: 'stacked',
          unit: 'ops',
          queries: [
            {
              expr: `topk(10, ${rateBy(turns, 'source, stop_reason', `${OF_SOURCE}, outcome!="completed"`)})`,
              legend: '{{source}} / {{stop_reason}}',
            },
          ],
          width: 12,
        },
        {
          title: 'What changed since yesterday',
          about:
            'Share of a reason now minus its share of the last day: what has grown stands above zero.',
          kind: 'lines',
          unit: 'percentunit',
          queries: [
            {
              expr: `topk(8, turnkeeper:turns:share_rate15m{${OF_SOURCE}} - turnkeeper:turns:share_rate1d{${OF_SOURCE}})`,
              legend: '{{source}} / {{stop_reason}}',
            },
          ],
          alert: 'StopReasonShareRises',
          width: 12,
        },
      ],
    },
    {
      title: 'Limits and interventions',
      panels: [
        {
          title: 'Stopped from outside',
          about: 'Turns that a person, a newer message, a deadline or a budget stopped.',
          kind: 'stacked',
          unit: 'ops',
          queries: [
            { expr: rateBy('turnkeeper_stops_requested_total', 'cause'), legend: '{{cause}}' },
          ],
        },
        {
          title: 'What is left of the budgets',
          about:
            'The tenth of the turns with the least left, by account; near 0 a limit is too tight.',
          kind: 'lines',
          unit: 'percentunit',
          queries: [
            {
              expr: `histogram_quantile(0.1, sum by (le, account) (rate(turnkeeper_turn_budget_remaining_ratio_bucket[${RATE}])))`,
              legend: '{{account}}',
            },
          ],
        },
        {
          title: 'Rejected proposals',
          about: 'Proposed calls the six checks rejected, by check and code.',
          kind: 'stacked',
          unit: 'ops',
          queries: [
            {
              expr: `topk(8, ${rateBy('turnkeeper_call_rejections_total', 'check, code')})`,
              legend: '{{check}} / {{code}}',
            },
          ],
        },
      ],
    },
  ],
};
