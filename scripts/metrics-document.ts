import {
  closedValues,
  definitionOf,
  LABELS,
  METRIC_NAMES,
  mostSeries,
  mostValues,
  PREFIX,
  type LabelName,
  type MetricName,
} from '../src/telemetry/metrics/index.ts';

/** docs/metrics.md, written from the catalogue of metrics. */
export function metricsDocument(): string {
  const own = METRIC_NAMES.filter((name) => definitionOf(name).of === 'process');
  const shared = METRIC_NAMES.filter((name) => definitionOf(name).of === 'shared');
  return `${[
    '# Metrics',
    '',
    'Generated from `src/telemetry/metrics/catalogue.ts` by `node scripts/generate-metrics.ts`. No label names a conversation, a turn or a',
    'customer; ids stand in exemplars, traces and step lines. The last column is the most series one process can have.',
    '',
    '## Of each process',
    '',
    'Sum them over processes.',
    '',
    ...table(own),
    '',
    '## Of all, from one exporter',
    '',
    'The state in Redis. One process of a deployment reports it; do not sum it over processes.',
    '',
    ...table(shared),
    '',
    '## Labels',
    '',
    '| label | what it is | values |',
    '|---|---|---|',
    ...(Object.keys(LABELS) as LabelName[]).map(labelRow),
  ].join('\n')}\n`;
}

function table(names: readonly MetricName[]): string[] {
  return [
    '| metric | type | labels | what it tells | series |',
    '|---|---|---|---|---|',
    ...names.map((name) => {
      const { type, labels, help } = definitionOf(name);
      const named = labels.map((label) => `\`${label}\``).join(', ');
      return `| \`${PREFIX}${name}\` | ${type} | ${named} | ${help} | ${mostSeries(name)} |`;
    }),
  ];
}

function labelRow(label: LabelName): string {
  const values =
    closedValues(label)
      ?.map((value) => `\`${value}\``)
      .join(', ') ?? `at most ${mostValues(label) - 1}, then \`other\``;
  return `| \`${label}\` | ${LABELS[label].help} | ${values} |`;
}
