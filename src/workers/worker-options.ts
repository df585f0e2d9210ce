import { Worker, type Job, type WorkerOptions } from 'bullmq';
import type { Logger } from 'pino';
import { QUEUES, type QueueName } from '../contracts/index.ts';
import type { Store } from '../store/index.ts';
import { noMeter, type Meter } from '../telemetry/metrics/index.ts';
import { VerificationPendingError } from './errors.ts';

/**
 * How a lost worker is noticed: its lock runs out after 3 s and is looked for every second, so its jobs go on after
 * about 3 s. Renewing every 600 ms, a worker whose event loop is blocked for 2.5 s keeps its jobs.
 */
export const WORKER_OPTIONS = {
  lockDuration: 3_000,
  lockRenewTime: 600,
  stalledInterval: 1_000,
  maxStalledCount: 1_000_000,
  removeOnComplete: { count: 0 },
  removeOnFail: { count: 0 },
  settings: {
    backoffStrategy: (_attempts: number, _type?: string, error?: Error) =>
      error instanceof VerificationPendingError ? error.delayMs : 1_000,
  },
} satisfies Partial<WorkerOptions>;

export type DutyOptions = {
  store: Store;
  logger: Logger;
  /** Default: nothing is measured. */
  meter?: Meter;
  /** Jobs worked on at a time, per lane. */
  concurrency: number;
};

/** BullMQ stores the stack of what a job throws with the job. */
function withoutStack(error: unknown): never {
  if (error instanceof Error) delete error.stack;
  throw error;
}

/** Takes the jobs of one queue of one lane. `process` gets the job and the token of its lock. */
export function startWorker(
  queue: QueueName,
  tag: string,
  { store, logger, meter = noMeter, concurrency }: DutyOptions,
  process: (job: Job, token: string) => Promise<void>,
): Worker {
  const work = async (job: Job, token = ''): Promise<void> => {
    meter.add('jobs_taken_total', { queue });
    meter.shift('worker_jobs_active', { queue }, 1);
    await process(job, token)
      .catch(withoutStack)
      .finally(() => meter.shift('worker_jobs_active', { queue }, -1));
  };
  const worker = new Worker(QUEUES[queue], work, {
    ...WORKER_OPTIONS,
    connection: store.redis,
    prefix: tag,
    concurrency,
  });
  meter.shift('worker_slots', { queue }, concurrency);
  worker.on('closed', () => meter.shift('worker_slots', { queue }, -concurrency));
  worker.on('stalled', () => meter.add('jobs_stalled_total', { queue }));
  worker.on('failed', (_job, error) => {
    if (!(error instanceof VerificationPendingError)) meter.add('jobs_failed_total', { queue });
  });
  // BullMQ reports lost locks and connections here; without a listener they would end the process.
  worker.on('error', (error) => {
    logger.warn({ queue, error: error.message }, 'worker error');
  });
  return worker;
}
