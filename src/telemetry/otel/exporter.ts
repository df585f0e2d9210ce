import type { Resource } from '@opentelemetry/resources';
import type { SpanExporter, SpanProcessor } from '@opentelemetry/sdk-trace';

/** The libraries are loaded here and nowhere else. */
export async function startExporter(
  { url, version }: { url: string; version: string },
  dropped: (spans: number) => void,
): Promise<{ processor: SpanProcessor; resource: Resource }> {
  const [{ OTLPTraceExporter }, { BatchSpanProcessor }, { resourceFromAttributes }] =
    await Promise.all([
      import('@opentelemetry/exporter-trace-otlp-proto'),
      import('@opentelemetry/sdk-trace'),
      import('@opentelemetry/resources'),
    ]);
  const exporter = forgiving(new OTLPTraceExporter({ url, timeoutMillis: 5_000 }), dropped);
  const processor = new BatchSpanProcessor({ exporter, exportTimeoutMillis: 10_000 });
  const resource = resourceFromAttributes({
    'service.name': 'turnkeeper',
    'service.version': version,
  });
  return { processor, resource };
}

/** What could not be exported is counted; nobody else hears of it. */
function forgiving(exporter: SpanExporter, dropped: (spans: number) => void): SpanExporter {
  return {
    export(spans, done) {
      exporter.export(spans, (result) => {
        if (result.code !== 0) dropped(spans.length);
        done({ code: 0 });
      });
    },
    shutdown: () => exporter.shutdown(),
    forceFlush: async () => exporter.forceFlush?.(),
  };
}
