import { Worker, type Job } from 'bullmq';
import type { Logger } from 'pino';
import { parkedChildSchema, QUEUES } from '../contracts/index.ts';
import type { Store } from '../store/index.ts';
import { delay } from './settle.ts';
import { logErrors, WORKER_OPTIONS } from './worker-options.ts';

export type ApprovalWorkerOptions = { store: Store; logger: Logger; concurrency: number };

/**
 * Runs when an approval expires, or earlier when somebody decided it: either way the record says what is true, and the
 * end of this job wakes the turn.
 */
export function startApprovalWorker(options: ApprovalWorkerOptions, tag: string): Worker {
  const worker = new Worker(QUEUES.approvals, (job, token) => expire(options, job, token ?? ''), {
    ...WORKER_OPTIONS,
    connection: options.store.redis,
    prefix: tag,
    concurrency: options.concurrency,
  });
  logErrors(worker, options.logger);
  return worker;
}

async function expire(
  { store, logger }: ApprovalWorkerOptions,
  job: Job,
  token: string,
): Promise<void> {
  const waiting = parkedChildSchema.parse(job.data);
  const parked = await store.parkedTurn(waiting.conversationId, waiting.turnId, waiting.park);
  if (parked?.park.approvalId === undefined) return;
  const answer = await store.decideApproval(parked.park.approvalId, 'expired', 'clock');
  if (answer.kind === 'not_due') return delay({ job, token }, answer.expiresAt, store.clock());
  if (answer.kind === 'decided')
    logger.info({ ...waiting, status: answer.status }, 'approval expired');
}
