/** How a panel shows its queries. */
export type PanelKind = 'lines' | 'stacked' | 'tile' | 'bars' | 'heat';

export type Query = {
  expr: string;
  /** Legend, with labels as `{{tool}}`. Default: all labels. */
  legend?: string;
};

export type PanelSpec = {
  title: string;
  /** One sentence: what it shows and what is normal. */
  about: string;
  kind: PanelKind;
  /** Grafana's name of the unit. */
  unit: 's' | 'short' | 'percentunit' | 'bytes' | 'currencyUSD' | 'ops' | 'dateTimeFromNow';
  queries: readonly Query[];
  /** From this value on a tile is yellow, then red; falling where the second is the smaller one. */
  thresholds?: readonly [warn: number, bad: number];
  /** The alert whose runbook the panel links to. */
  alert?: string;
  /** Board to drill down to. */
  board?: BoardUid;
  /** Exemplars lead to traces. */
  exemplars?: boolean;
  /** Of 24 columns. Default 8. */
  width?: number;
};

export type RowSpec = { title: string; panels: readonly PanelSpec[] };

export const BOARD_UIDS = [
  'tk-why',
  'tk-fine',
  'tk-turns',
  'tk-effects',
  'tk-money',
  'tk-ingress',
  'tk-redis',
] as const;
export type BoardUid = (typeof BOARD_UIDS)[number];

export type BoardSpec = {
  uid: BoardUid;
  title: string;
  about: string;
  /** Variables its queries use. */
  variables: readonly ('source' | 'lane')[];
  rows: readonly RowSpec[];
};

/** Range of every rate: at least four scrapes, growing with the time shown. */
export const RATE = '$__rate_interval';
export const OF_SOURCE = 'source=~"$source"';
export const OF_LANE = 'lane=~"$lane"';

/** A quantile over the buckets of a histogram. */
export function quantile(q: number, metric: string, by: string, selector = ''): string {
  const grouping = by === '' ? 'le' : `le, ${by}`;
  return `histogram_quantile(${q}, sum by (${grouping}) (rate(${metric}_bucket{${selector}}[${RATE}])))`;
}

/** p50, p95 and p99 of a histogram as three lines. */
export function quantiles(metric: string, selector = ''): Query[] {
  return [0.5, 0.95, 0.99].map((q) => ({
    expr: quantile(q, metric, '', selector),
    legend: `p${q * 100}`,
  }));
}

/** Events a second by a label. */
export function rateBy(metric: string, by: string, selector = ''): string {
  return `sum by (${by}) (rate(${metric}{${selector}}[${RATE}]))`;
}
