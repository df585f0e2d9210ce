export { spanIdOf, traceIdOf } from './ids.ts';
export type { DeliveryStep } from './export-work.ts';
export { startTracer, Tracer, type TracerOptions } from './tracer.ts';
export { turnSpans, type RecordedTurn, type TurnSpan } from './turn-spans.ts';
