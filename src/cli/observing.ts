import type { Logger } from 'pino';
import type { Agent, Settings } from '../config/index.ts';
import { askedModel } from '../models/index.ts';
import type { Queues } from '../producers/index.ts';
import type { Store } from '../store/index.ts';
import {
  PrometheusMeter,
  serveMetrics,
  sharedGauges,
  watchProcess,
} from '../telemetry/metrics/index.ts';
import { startTracer, type Tracer } from '../telemetry/otel/index.ts';
import { sharedState } from '../workers/index.ts';
import { version } from './version.ts';

export type Observing = {
  meter: PrometheusMeter;
  /** Only where an OTLP receiver is configured. */
  tracer?: Tracer;
  /** Serves the metrics, if a port is configured. With queues this process is the one that reports the state of all. */
  serve(store: Store, queues?: Queues): Promise<void>;
};

/** Metrics and traces of this process, as the settings want them. Neither keeps the process alive. */
export async function startObserving(
  settings: Settings,
  agent: Agent,
  logger: Logger,
): Promise<Observing> {
  const meter = new PrometheusMeter({
    tools: agent.tools.map(({ name }) => name),
    sources: agent.sources.map(({ name }) => name),
  });
  const endpoint = settings.OTEL_EXPORTER_OTLP_ENDPOINT;
  const model = askedModel(agent.model);
  const options = { version: version(), agent: agent.rules.name, model, meter, logger };
  const tracer = endpoint === undefined ? undefined : await startTracer({ ...options, endpoint });
  return {
    meter,
    ...(tracer === undefined ? {} : { tracer }),
    async serve(store, queues) {
      const port = settings.METRICS_PORT;
      if (port === undefined) return;
      watchProcess(meter, { version: version(), ping: () => store.redis.ping() });
      if (queues !== undefined) sharedGauges(meter, sharedState(store, queues));
      await serveMetrics(meter, { port, host: settings.METRICS_HOST });
    },
  };
}
