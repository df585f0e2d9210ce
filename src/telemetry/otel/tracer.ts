import { once } from 'node:events';
import { setTimeout as elapse } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import type { Logger } from 'pino';
import type { TurnEvent } from '../../contracts/index.ts';
import type { ClaimedTurn } from '../../loop/index.ts';
import type { Meter } from '../metrics/meter.ts';
import type { DeliveryStep, ExportSettings, ExportWork, FromExport } from './export-work.ts';
import { startExporter } from './exporter.ts';

export type TracerOptions = {
  /** Base URL of an OTLP receiver, such as http://127.0.0.1:4318; spans go to `/v1/traces` below it. */
  endpoint: string;
  version: string;
  agent: string;
  model: { provider: string; name: string };
  meter: Meter;
  logger: Logger;
};

/** Turns that come to rest within this time are handed over together. Milliseconds. */
const GATHER_MS = 20;
/** Turns and deliveries the thread has not taken yet; what comes on top is counted and forgotten. */
const MOST_OUTSTANDING = 2_000;
/** Longest a last export may take. Milliseconds. */
const LAST_EXPORT_MS = 15_000;

/**
 * Exports turns as OpenTelemetry spans, from their records, in a thread of its own. A turn is exported when it comes to
 * rest; nothing waits for an export, and a failed one is counted and forgotten.
 */
export class Tracer {
  readonly #options: Pick<TracerOptions, 'meter' | 'logger'>;
  readonly #thread: Worker;
  readonly #others: () => Promise<void>;
  readonly #ended: Promise<unknown>;
  #gathered: ExportWork[] = [];
  #outstanding = 0;
  #gone = false;

  constructor(
    settings: ExportSettings,
    options: Pick<TracerOptions, 'meter' | 'logger'>,
    /** Sends what other libraries have left. */
    others: () => Promise<void>,
  ) {
    this.#options = options;
    this.#others = others;
    const file = import.meta.url.endsWith('.ts') ? 'export-thread.ts' : 'export-thread.js';
    this.#thread = new Worker(new URL(file, import.meta.url), {
      workerData: settings,
      execArgv: [],
    });
    this.#thread.unref();
    this.#thread.on('message', (message: FromExport) => this.#hear(message));
    this.#thread.on('error', (error) => options.logger.warn({ err: error }, 'export of traces'));
    this.#ended = once(this.#thread, 'exit').catch(() => {});
    void this.#ended.then(() => {
      this.#gone = true;
    });
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
        this.#hand({
          kind: 'turn',
          turn: { turnId, conversationId, messages, events },
          exported,
        });
      },
    };
  }

  delivery(step: DeliveryStep): void {
    this.#hand({ kind: 'delivery', step });
  }

  /** Sends what is left, and gives up after a while. */
  async close(): Promise<void> {
    this.#flush();
    this.#thread.ref();
    this.#thread.postMessage('close');
    const patience = new AbortController();
    const late = elapse(LAST_EXPORT_MS, undefined, { signal: patience.signal }).catch(() => {});
    await Promise.race([Promise.all([this.#ended, this.#others().catch(() => {})]), late]);
    patience.abort();
    await this.#thread.terminate();
  }

  #hand(work: ExportWork): void {
    if (this.#gone || this.#outstanding >= MOST_OUTSTANDING) {
      this.#options.meter.add('spans_dropped_total', {});
      return;
    }
    this.#outstanding += 1;
    this.#gathered.push(work);
    if (this.#gathered.length === 1) setTimeout(() => this.#flush(), GATHER_MS).unref();
  }

  #flush(): void {
    const gathered = this.#gathered;
    this.#gathered = [];
    if (gathered.length === 0) return;
    try {
      // As one text: copying the objects would take longer than making it.
      this.#thread.postMessage(JSON.stringify(gathered));
    } catch (error) {
      this.#options.logger.warn({ err: error }, 'turns not exported');
    }
  }

  #hear(message: FromExport): void {
    const { meter, logger } = this.#options;
    if ('taken' in message) this.#outstanding -= message.taken;
    else if ('dropped' in message) meter.add('spans_dropped_total', {}, message.dropped);
    else logger.warn({ err: new Error(message.problem) }, 'turn not exported');
  }
}

/** Starts a tracer that sends to an OTLP receiver. */
export async function startTracer(options: TracerOptions): Promise<Tracer> {
  const { endpoint, version, agent, model, meter } = options;
  const url = `${endpoint.replace(/\/+$/, '')}/v1/traces`;
  // Spans that tools or libraries of an agent make go the same way as those of the turns.
  const dropped = (spans: number): void => meter.add('spans_dropped_total', {}, spans);
  const { processor, resource } = await startExporter({ url, version }, dropped);
  const { NodeSDK } = await import('@opentelemetry/sdk-node');
  const sdk = new NodeSDK({
    ...{ resource, spanProcessors: [processor], autoDetectResources: false },
    ...{ metricReaders: [], logRecordProcessors: [], instrumentations: [] },
  });
  sdk.start();
  return new Tracer({ url, version, agent, model }, options, () => processor.shutdown());
}
