import type { Worker, WorkerOptions } from 'bullmq';
import type { Logger } from 'pino';
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

/** BullMQ reports lost locks and connections through `error`; without a listener they would end the process. */
export function logErrors(worker: Worker, logger: Logger): void {
  worker.on('error', (error) => {
    logger.warn({ queue: worker.name, error: error.message }, 'worker error');
  });
}
