export { spanIdOf, traceIdOf } from './ids.ts';
export { startTracer, Tracer, type DeliveryStep, type TracerOptions } from './tracer.ts';
export { turnSpans, type RecordedTurn, type TurnSpan } from './turn-spans.ts';
