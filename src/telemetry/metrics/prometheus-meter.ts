import { Counter, Gauge, Histogram, Registry, type OpenMetricsContentType } from 'prom-client';
import {
  definitionOf,
  METRIC_NAMES,
  PREFIX,
  type CounterName,
  type GaugeName,
  type HistogramName,
  type LabelsOf,
  type MetricName,
} from './catalogue.ts';
import { closedValues, LABELS, mostValues, OTHER, type LabelName } from './labels.ts';
import type { Meter } from './meter.ts';

type Labels = Partial<Record<LabelName, string>>;
/** Runs before the metrics are read, e.g. to set gauges. */
export type Collector = () => Promise<void> | void;

export type PrometheusMeterOptions = {
  /** Sources and tools that are configured: their counters start at zero. */
  sources?: readonly string[];
  tools?: readonly string[];
};

/** The metrics of this process in the OpenMetrics text format. Every name is registered at once, counters at zero. */
export class PrometheusMeter implements Meter {
  readonly contentType: OpenMetricsContentType = Registry.OPENMETRICS_CONTENT_TYPE;
  readonly #registry = new Registry<OpenMetricsContentType>();
  readonly #counters = new Map<MetricName, Counter>();
  readonly #gauges = new Map<MetricName, Gauge>();
  readonly #histograms = new Map<MetricName, Histogram>();
  readonly #known = new Map<LabelName, Set<string>>();
  readonly #collectors: Collector[] = [];

  constructor(options: PrometheusMeterOptions = {}) {
    this.#registry.setContentType(this.contentType);
    for (const name of METRIC_NAMES) this.#register(name);
    for (const name of METRIC_NAMES) this.#startAtZero(name);
    for (const source of options.sources ?? []) this.expect('source', source);
    for (const tool of options.tools ?? []) this.expect('tool', tool);
  }

  add<Name extends CounterName>(name: Name, labels: LabelsOf<Name>, by = 1): void {
    if (by > 0) this.#counters.get(name)?.inc(this.#bounded(labels), by);
  }

  observe<Name extends HistogramName>(
    name: Name,
    labels: LabelsOf<Name>,
    value: number,
    traceId?: string,
  ): void {
    this.#histograms.get(name)?.observe({
      labels: this.#bounded(labels),
      value: Math.max(0, value),
      // Labels of an exemplar are no labels of the series: an id may stand here.
      ...(traceId === undefined ? {} : { exemplarLabels: { trace_id: traceId } }),
    });
  }

  set<Name extends GaugeName>(name: Name, labels: LabelsOf<Name>, value: number): void {
    this.#gauges.get(name)?.set(this.#bounded(labels), value);
  }

  shift<Name extends GaugeName>(name: Name, labels: LabelsOf<Name>, by: number): void {
    this.#gauges.get(name)?.inc(this.#bounded(labels), by);
  }

  /** Forgets every series of a gauge: what cannot be read any more must not stand there as if it could. */
  forget(name: GaugeName): void {
    this.#gauges.get(name)?.reset();
    if (definitionOf(name).labels.length === 0) this.#gauges.get(name)?.remove({});
  }

  expect(label: LabelName, value: string): void {
    this.#keep(label, value);
  }

  onScrape(collector: Collector): void {
    this.#collectors.push(collector);
  }

  /** Everything as text, after each collector has had its turn; one that fails leaves the rest as it is. */
  async text(): Promise<string> {
    await Promise.allSettled(this.#collectors.map(async (collect) => collect()));
    return this.#registry.metrics();
  }

  #register(name: MetricName): void {
    const { type: kind, help, labels, buckets } = definitionOf(name);
    const shared = {
      name: `${PREFIX}${name}`,
      help,
      labelNames: [...labels],
      registers: [this.#registry],
    };
    switch (kind) {
      case 'counter':
        this.#counters.set(name, new Counter(shared));
        return;
      case 'gauge':
        this.#gauges.set(name, new Gauge({ ...shared, aggregator: 'omit' }));
        // A gauge nobody has set says nothing, not 0.
        if (labels.length === 0) this.forget(name as GaugeName);
        return;
      case 'histogram':
        this.#histograms.set(
          name,
          new Histogram({ ...shared, buckets: [...(buckets ?? [])], enableExemplars: true }),
        );
        return;
      default:
        kind satisfies never;
    }
  }

  #bounded(labels: Labels): Record<string, string> {
    const entries = Object.entries(labels) as [LabelName, string][];
    return Object.fromEntries(
      entries.map(([label, value]) => [
        label,
        closedValues(label) === undefined ? this.#keep(label, value) : value,
      ]),
    );
  }

  /** The value itself while there is room for it. */
  #keep(label: LabelName, value: string): string {
    const known = this.#known.get(label) ?? new Set<string>();
    this.#known.set(label, known);
    if (known.has(value) || value === OTHER) return value;
    const definition = LABELS[label];
    if (known.size >= ('atMost' in definition ? definition.atMost : 0)) return OTHER;
    known.add(value);
    for (const name of METRIC_NAMES) this.#startAtZero(name, { label, value });
    return value;
  }

  /** Counters and histograms of one guarded label at most start with every series they can have. */
  #startAtZero(name: MetricName, known?: { label: LabelName; value: string }): void {
    const { type, labels } = definitionOf(name);
    if (type === 'gauge') return;
    const guarded = labels.filter((label) => closedValues(label) === undefined);
    if (guarded.length > 1 || (known !== undefined && guarded[0] !== known.label)) return;
    const [label] = guarded;
    const fixed: Labels = label === undefined ? {} : { [label]: known?.value ?? OTHER };
    for (const combination of combinations(name)) {
      const values: Labels = { ...combination, ...fixed };
      const series = Object.fromEntries(labels.map((one) => [one, values[one] ?? '']));
      this.#counters.get(name)?.inc(series, 0);
      this.#histograms.get(name)?.zero(series);
    }
  }
}

/** Every combination of the closed labels of a metric. */
export function combinations(name: MetricName): Labels[] {
  const { labels, series } = definitionOf(name);
  if (series !== undefined) return [...series];
  return labels.reduce<Labels[]>(
    (found, label) => {
      const values = closedValues(label);
      if (values === undefined) return found;
      return found.flatMap((one) => values.map((value) => ({ ...one, [label]: value })));
    },
    [{}],
  );
}

/** Most series a metric can have in one process; a histogram has several lines for each. */
export function mostSeries(name: MetricName): number {
  const guarded = definitionOf(name).labels.filter((label) => closedValues(label) === undefined);
  return guarded.reduce((product, label) => product * mostValues(label), combinations(name).length);
}
