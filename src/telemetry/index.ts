export { LOG_REDACTION, redactText } from './redaction.ts';
export { stepLog } from './step-log.ts';
export {
  OpenSpanError,
  traceOf,
  TurnTrace,
  type Attributes,
  type Span,
  type SpanKind,
  type SpanStatus,
} from './trace.ts';
