import { monitorEventLoopDelay } from 'node:perf_hooks';
import { LABELS } from './labels.ts';
import type { PrometheusMeter } from './prometheus-meter.ts';

export type ProcessMetricsOptions = {
  version: string;
  /** A round trip to Redis on a connection that is in use. */
  ping(): Promise<unknown>;
  /** How long a scrape waits for it. Milliseconds, default 1,000. */
  pingTimeoutMs?: number;
};

/** Reports this process at every scrape: memory, processor, event loop, and how far away Redis is. */
export function watchProcess(meter: PrometheusMeter, options: ProcessMetricsOptions): () => void {
  const { version, ping, pingTimeoutMs = 1_000 } = options;
  const delay = monitorEventLoopDelay({ resolution: 10 });
  delay.enable();
  let counted = 0;
  meter.onScrape(() => {
    meter.set('build_info', { version }, 1);
    meter.set('process_start_time_seconds', {}, Date.now() / 1_000 - process.uptime());
    const { heapUsed, rss } = process.memoryUsage();
    meter.set('process_heap_bytes', {}, heapUsed);
    meter.set('process_resident_bytes', {}, rss);
    const { user, system } = process.cpuUsage();
    meter.add('process_cpu_seconds_total', {}, (user + system) / 1_000_000 - counted);
    counted = (user + system) / 1_000_000;
    for (const quantile of LABELS.quantile.values) {
      const nanoseconds = delay.percentile(Number(quantile) * 100);
      meter.set('event_loop_delay_seconds', { quantile }, nanoseconds / 1e9);
    }
    delay.reset();
  });
  meter.onScrape(async () => {
    const startedAt = performance.now();
    const answered = await within(ping, pingTimeoutMs);
    meter.set('redis_up', {}, answered ? 1 : 0);
    if (answered) {
      meter.set('redis_round_trip_seconds', {}, (performance.now() - startedAt) / 1_000);
    } else {
      meter.forget('redis_round_trip_seconds');
    }
  });
  return () => delay.disable();
}

async function within(work: () => Promise<unknown>, timeoutMs: number): Promise<boolean> {
  const { promise: late, resolve } = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => resolve(false), timeoutMs);
  const done = work().then(
    () => true,
    () => false,
  );
  return Promise.race([done, late]).finally(() => clearTimeout(timer));
}
