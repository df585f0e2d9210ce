import { SpanKind, SpanStatusCode, TraceFlags, type Attributes } from '@opentelemetry/api';
import type { Resource } from '@opentelemetry/resources';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { redactPatterns } from '../redaction-patterns.ts';
import type { DeliveryStep } from './export-work.ts';
import type { AttributeValue } from './gen-ai.ts';
import { spanIdOf } from './ids.ts';
import type { TurnSpan } from './turn-spans.ts';

/** A step of a delivery as a span of the turn that caused it. */
export function deliverySpan(step: DeliveryStep): TurnSpan {
  const { turnId, deliveryId, kind, status, attempt, startedAt, endedAt } = step;
  return {
    spanId: spanIdOf(turnId, `delivery ${deliveryId} ${startedAt}`),
    parentSpanId: spanIdOf(turnId, 'turn'),
    name: `deliver ${kind}`,
    kind: SpanKind.PRODUCER,
    startedAt,
    endedAt,
    status: status === 'unknown' ? 'error' : 'ok',
    attributes: {
      'turnkeeper.turn_id': turnId,
      'turnkeeper.delivery_id': deliveryId,
      'turnkeeper.delivery_status': status,
      'turnkeeper.retry': attempt,
    },
    events: [],
    version: 0,
  };
}

/** A span as OpenTelemetry exports it, with every text redacted. */
export function readableSpan(
  traceId: string,
  span: TurnSpan,
  from: { resource: Resource; version: string },
): ReadableSpan {
  const context = (spanId: string) => ({ traceId, spanId, traceFlags: TraceFlags.SAMPLED });
  const { parentSpanId, linkedSpanId, startedAt, endedAt, status } = span;
  const undetermined = status === 'undetermined' ? { 'turnkeeper.status': status } : {};
  return {
    name: clearText(span.name),
    kind: span.kind,
    spanContext: () => context(span.spanId),
    ...(parentSpanId === undefined ? {} : { parentSpanContext: context(parentSpanId) }),
    startTime: hrTime(startedAt),
    endTime: hrTime(endedAt),
    duration: hrTime(endedAt - startedAt),
    status: { code: status === 'error' ? SpanStatusCode.ERROR : SpanStatusCode.UNSET },
    attributes: redacted({ ...span.attributes, ...undetermined }),
    links: linkedSpanId === undefined ? [] : [{ context: context(linkedSpanId) }],
    events: span.events.map(({ name, at, attributes }) => ({
      name,
      time: hrTime(at),
      attributes: redacted(attributes),
    })),
    ended: true,
    resource: from.resource,
    instrumentationScope: { name: 'turnkeeper', version: from.version },
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
  };
}

function hrTime(milliseconds: number): [number, number] {
  const whole = Math.floor(milliseconds / 1_000);
  return [whole, Math.round((milliseconds - whole * 1_000) * 1e6)];
}

function redacted(attributes: Readonly<Record<string, AttributeValue>>): Attributes {
  const clear: Record<string, AttributeValue> = {};
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'string') clear[name] = clearText(value);
    else clear[name] = typeof value === 'object' ? value.map(clearText) : value;
  }
  return clear as Attributes;
}

/** A word without a digit, a capital or a mark is no address, number or key. */
const WORD = /^[a-z_]{0,20}$/;

/** Ids of a turn stand on each of its spans, and names on those of every turn. */
const known = new Map<string, string>();
const MOST_KNOWN = 1_000;
/** Longer texts are hardly ever seen twice. */
const LONGEST_KNOWN = 100;

/** Most values are words of ours, such as a status: they need no look at every pattern. */
function clearText(text: string): string {
  if (WORD.test(text)) return text;
  if (text.length > LONGEST_KNOWN) return redactPatterns(text);
  let clear = known.get(text);
  if (clear === undefined) {
    clear = redactPatterns(text);
    if (known.size >= MOST_KNOWN) known.clear();
    known.set(text, clear);
  }
  return clear;
}
