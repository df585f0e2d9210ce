import type { Builder } from '@grafana/grafana-foundation-sdk/cog';
import * as bargauge from '@grafana/grafana-foundation-sdk/bargauge';
import * as common from '@grafana/grafana-foundation-sdk/common';
import * as dashboard from '@grafana/grafana-foundation-sdk/dashboard';
import * as heatmap from '@grafana/grafana-foundation-sdk/heatmap';
import * as prometheus from '@grafana/grafana-foundation-sdk/prometheus';
import * as stat from '@grafana/grafana-foundation-sdk/stat';
import * as timeseries from '@grafana/grafana-foundation-sdk/timeseries';
import { BOARDS } from './boards.ts';
import type { BoardSpec, BoardUid, PanelSpec, Query } from './panels.ts';

const METRICS = { type: 'prometheus', uid: 'turnkeeper-prometheus' };
/** Runbooks are served by Grafana itself, see docker-compose.yml. */
const RUNBOOKS = '/public/runbooks';
const HEIGHTS = { tile: 6, lines: 8, stacked: 8, bars: 8, heat: 8 } as const;

type PanelBuilder = Builder<dashboard.Panel> & {
  title(title: string): PanelBuilder;
  description(text: string): PanelBuilder;
  datasource(source: common.DataSourceRef): PanelBuilder;
  unit(unit: string): PanelBuilder;
  id(id: number): PanelBuilder;
  height(height: number): PanelBuilder;
  span(width: number): PanelBuilder;
  withTarget(target: Builder<prometheus.Dataquery>): PanelBuilder;
  links(links: Builder<dashboard.DashboardLink>[]): PanelBuilder;
  thresholds(thresholds: Builder<dashboard.ThresholdsConfig>): PanelBuilder;
};

/** The JSON Grafana loads. */
export function dashboardOf(board: BoardSpec): dashboard.Dashboard {
  const builder = new dashboard.DashboardBuilder(`Turnkeeper: ${board.title}`)
    .uid(board.uid)
    .description(board.about)
    .tags(['turnkeeper'])
    .refresh('30s')
    .time({ from: 'now-6h', to: 'now' })
    .timezone('browser')
    .tooltip(dashboard.DashboardCursorSync.Crosshair)
    .variables(board.variables.map(variable))
    .annotation(deploys())
    .links([...BOARDS.map(boardLink), runbookLink('README', 'Runbooks')]);
  let id = 1;
  for (const { title, panels } of board.rows) {
    builder.withRow(new dashboard.RowBuilder(title).id(id));
    id += 1;
    for (const spec of panels) {
      builder.withPanel(panel(spec).id(id));
      id += 1;
    }
  }
  return builder.build();
}

function panel(spec: PanelSpec): PanelBuilder {
  const { title, about, unit, kind, width = 8 } = spec;
  let builder = emptyPanel(kind)
    .title(title)
    .description(about)
    .datasource(METRICS)
    .unit(unit)
    .height(HEIGHTS[kind])
    .span(width)
    .links(linksOf(spec));
  if (spec.thresholds !== undefined) builder = builder.thresholds(thresholds(spec.thresholds));
  for (const [index, query] of spec.queries.entries()) {
    builder = builder.withTarget(target(query, index, spec));
  }
  return builder;
}

function emptyPanel(kind: PanelSpec['kind']): PanelBuilder {
  const last = new common.ReduceDataOptionsBuilder().calcs(['lastNotNull']);
  switch (kind) {
    case 'lines':
      return lines();
    case 'stacked': {
      const stacking = new common.StackingConfigBuilder().mode(common.StackingMode.Normal);
      return lines().fillOpacity(30).stacking(stacking);
    }
    case 'tile':
      return new stat.PanelBuilder().reduceOptions(last);
    case 'bars':
      return new bargauge.PanelBuilder()
        .reduceOptions(last)
        .orientation(common.VizOrientation.Horizontal);
    case 'heat':
      return new heatmap.PanelBuilder().calculate(false);
    default:
      return kind satisfies never;
  }
}

function lines(): timeseries.PanelBuilder {
  const legend = new common.VizLegendOptionsBuilder()
    .displayMode(common.LegendDisplayMode.List)
    .placement(common.LegendPlacement.Bottom)
    .showLegend(true);
  return new timeseries.PanelBuilder().legend(legend).min(0).fillOpacity(5);
}

function target(query: Query, index: number, { kind, exemplars }: PanelSpec) {
  const builder = new prometheus.DataqueryBuilder()
    .refId(String.fromCodePoint(65 + index))
    .datasource(METRICS)
    .expr(query.expr)
    .exemplar(exemplars ?? false);
  if (query.legend !== undefined) builder.legendFormat(query.legend);
  if (kind === 'heat') builder.format(prometheus.PromQueryFormat.Heatmap);
  return kind === 'tile' || kind === 'bars' ? builder.instant() : builder.range();
}

/** Where the second value is the smaller one, small is bad. */
function thresholds([warn, bad]: readonly [number, number]) {
  const falling = bad < warn;
  const colours = falling ? ['red', 'yellow', 'green'] : ['green', 'yellow', 'red'];
  const [low, high] = falling ? [bad, warn] : [warn, bad];
  const steps = [null, low, high].map((value, index) => ({ value, color: colours[index] ?? '' }));
  return new dashboard.ThresholdsConfigBuilder()
    .mode(dashboard.ThresholdsMode.Absolute)
    .steps(steps);
}

function linksOf({ alert, board }: PanelSpec): dashboard.DashboardLinkBuilder[] {
  return [
    ...(board === undefined ? [] : [drillDown(board)]),
    ...(alert === undefined ? [] : [runbookLink(alert, `Runbook: ${alert}`)]),
  ];
}

function drillDown(uid: BoardUid): dashboard.DashboardLinkBuilder {
  const title = BOARDS.find((board) => board.uid === uid)?.title ?? uid;
  return link(title, `/d/${uid}`).includeVars(true).keepTime(true);
}

function boardLink({ uid, title }: BoardSpec): dashboard.DashboardLinkBuilder {
  return link(title, `/d/${uid}`).includeVars(true).keepTime(true);
}

function runbookLink(name: string, title: string): dashboard.DashboardLinkBuilder {
  return link(title, `${RUNBOOKS}/${name}.md`).targetBlank(true);
}

function link(title: string, url: string): dashboard.DashboardLinkBuilder {
  return new dashboard.DashboardLinkBuilder(title)
    .type(dashboard.DashboardLinkType.Link)
    .icon('external link')
    .tooltip(title)
    .tags([])
    .url(url);
}

const VARIABLES = {
  source: 'label_values(turnkeeper_turns_total, source)',
  lane: 'label_values(turnkeeper_conversations_open, lane)',
} as const;

function variable(name: keyof typeof VARIABLES): dashboard.QueryVariableBuilder {
  return new dashboard.QueryVariableBuilder(name)
    .label(name)
    .datasource(METRICS)
    .query(VARIABLES[name])
    .refresh(dashboard.VariableRefresh.OnTimeRangeChanged)
    .multi(true)
    .includeAll(true)
    .allValue('.*')
    .current({ selected: true, text: 'All', value: '$__all' });
}

/** A version that was not there ten minutes ago has been deployed. */
export const DEPLOYS =
  'count by (version) (turnkeeper_build_info) unless count by (version) (turnkeeper_build_info offset 10m)';

function deploys(): dashboard.AnnotationQueryBuilder {
  return new dashboard.AnnotationQueryBuilder()
    .name('Deploys')
    .datasource(METRICS)
    .enable(true)
    .iconColor('blue')
    .expr(DEPLOYS)
    .titleFormat('Deploy')
    .textFormat('{{version}}')
    .step('60s');
}
