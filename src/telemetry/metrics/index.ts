export {
  definitionOf,
  METRIC_NAMES,
  METRICS,
  PREFIX,
  type CounterName,
  type GaugeName,
  type HistogramName,
  type LabelsOf,
  type MetricName,
} from './catalogue.ts';
export { closedValues, LABELS, mostValues, OTHER, type LabelName } from './labels.ts';
export { noMeter, type Meter } from './meter.ts';
export { watchProcess, type ProcessMetricsOptions } from './process-metrics.ts';
export { mostSeries, PrometheusMeter, type PrometheusMeterOptions } from './prometheus-meter.ts';
export { serveMetrics, type ServedMetrics } from './serve-metrics.ts';
export {
  sharedGauges,
  type BlockedBy,
  type JobState,
  type LaneState,
  type RedisState,
  type SharedStateReader,
  type Standing,
} from './shared-gauges.ts';
export { TurnMetrics, type TurnMetricsOptions } from './turn-metrics.ts';
