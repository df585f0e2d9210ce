import { SpanKind, SpanStatusCode, TraceFlags, type Attributes } from '@opentelemetry/api';
import type { ReadableSpan, SpanExporter, SpanProcessor } from '@opentelemetry/sdk-trace';
import type { Resource } from '@opentelemetry/resources';
import type { Logger } from 'pino';
import type { TurnEvent } from '../../contracts/index.ts';
import type { ClaimedTurn } from '../../loop/index.ts';
import type { Meter } from '../metrics/meter.ts';
import { redactPatterns } from '../redaction-patterns.ts';
import type { AttributeValue, Cast } from './gen-ai.ts';
import { spanIdOf, traceIdOf } from './ids.ts';
import { turnSpans, type TurnSpan } from './turn-spans.ts';

export type TracerOptions = {
  /** Base URL of an OTLP receiver, such as http://127.0.0.1:4318; spans go to `/v1/traces` below it. */
  endpoint: string;
  version: string;
  agent: string;
  model: { provider: string; name: string };
  meter: Meter;
  logger: Logger;
};

/** One step of a delivery, as its worker saw it. Times in milliseconds since the epoch. */
export type DeliveryStep = {
  turnId: string;
  deliveryId: string;
  kind: string;
  status: string;
  attempt: number;
  startedAt: number;
  endedAt: number;
};

/**
 * Exports turns as OpenTelemetry spans, from their records. A turn is exported when it comes to rest; nothing waits for
 * an export and a failed one is counted and forgotten.
 */
export class Tracer {
  readonly #processor: SpanProcessor;
  readonly #resource: Resource;
  readonly #version: string;
  readonly #who: Omit<Cast, 'conversationId' | 'tool'>;
  readonly #logger: Logger;

  constructor(
    parts: { processor: SpanProcessor; resource: Resource },
    options: Pick<TracerOptions, 'version' | 'agent' | 'model' | 'logger'>,
  ) {
    this.#processor = parts.processor;
    this.#resource = parts.resource;
    this.#version = options.version;
    this.#logger = options.logger;
    const { provider, name } = options.model;
    this.#who = { agent: options.agent, provider, model: name };
  }

  /** Follows a claimed turn. `rested` is called once the step that laid it to rest is on record. */
  turn(claimed: Pick<ClaimedTurn, 'claim' | 'messages' | 'events'>) {
    const { claim, messages } = claimed;
    const events = [...claimed.events];
    return {
      observe: (event: TurnEvent): void => {
        events.push(event);
      },
      rested: (): void => {
        const { turnId, conversationId } = claim;
        // What came before the last park was exported then, or by whoever took over.
        const exported =
          events.slice(0, -1).findLastIndex(({ type }) => type === 'turn_parked') + 1;
        this.#attempt(() => {
          const spans = turnSpans({ turnId, conversationId, messages, events }, this.#who);
          const traceId = traceIdOf(turnId);
          for (const span of spans) {
            if (span.version > exported) this.#export(traceId, span);
          }
        });
      },
    };
  }

  delivery(step: DeliveryStep): void {
    const { turnId, deliveryId, kind, status, attempt, startedAt, endedAt } = step;
    this.#attempt(() =>
      this.#export(traceIdOf(turnId), {
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
      }),
    );
  }

  /** Sends what is left, and gives up after a while. */
  async close(): Promise<void> {
    await this.#processor.shutdown().catch(() => {});
  }

  #attempt(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#logger.warn({ err: error }, 'turn not exported');
    }
  }

  #export(traceId: string, span: TurnSpan): void {
    this.#processor.onEnd(this.#readable(traceId, span));
  }

  #readable(traceId: string, span: TurnSpan): ReadableSpan {
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
      resource: this.#resource,
      instrumentationScope: { name: 'turnkeeper', version: this.#version },
      droppedAttributesCount: 0,
      droppedEventsCount: 0,
      droppedLinksCount: 0,
    };
  }
}

/** Starts a tracer that sends to an OTLP receiver. The libraries are loaded here and nowhere else. */
export async function startTracer(options: TracerOptions): Promise<Tracer> {
  const [{ OTLPTraceExporter }, { BatchSpanProcessor }, { resourceFromAttributes }, { NodeSDK }] =
    await Promise.all([
      import('@opentelemetry/exporter-trace-otlp-proto'),
      import('@opentelemetry/sdk-trace'),
      import('@opentelemetry/resources'),
      import('@opentelemetry/sdk-node'),
    ]);
  const url = `${options.endpoint.replace(/\/+$/, '')}/v1/traces`;
  const exporter = forgiving(new OTLPTraceExporter({ url, timeoutMillis: 5_000 }), options.meter);
  const processor = new BatchSpanProcessor({ exporter, exportTimeoutMillis: 10_000 });
  const resource = resourceFromAttributes({
    'service.name': 'turnkeeper',
    'service.version': options.version,
  });
  // Spans that tools or libraries of an agent make go the same way as those of the turns.
  const sdk = new NodeSDK({
    ...{ resource, spanProcessors: [processor], autoDetectResources: false },
    ...{ metricReaders: [], logRecordProcessors: [], instrumentations: [] },
  });
  sdk.start();
  return new Tracer({ processor, resource }, options);
}

/** What could not be exported is counted; nobody else hears of it. */
function forgiving(exporter: SpanExporter, meter: Meter): SpanExporter {
  return {
    export(spans, done) {
      exporter.export(spans, (result) => {
        if (result.code !== 0) meter.add('spans_dropped_total', {}, spans.length);
        done({ code: 0 });
      });
    },
    shutdown: () => exporter.shutdown(),
    forceFlush: async () => exporter.forceFlush?.(),
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

/** Most values are words of ours, such as a status: they need no look at every pattern. */
function clearText(text: string): string {
  return WORD.test(text) ? text : redactPatterns(text);
}
