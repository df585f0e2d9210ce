import type { Job, Worker } from 'bullmq';
import { parkedChildSchema } from '../contracts/index.ts';
import { delay } from './settle.ts';
import { startWorker, type DutyOptions } from './worker-options.ts';

/**
 * Runs when an approval expires, or earlier when somebody decided it: either way the record says what is true, and the
 * end of this job wakes the turn.
 */
export function startApprovalWorker(options: DutyOptions, tag: string): Worker {
  return startWorker('approvals', tag, options, (job, token) => expire(options, job, token));
}

async function expire({ store, logger }: DutyOptions, job: Job, token: string): Promise<void> {
  const waiting = parkedChildSchema.parse(job.data);
  const parked = await store.parkedTurn(waiting.conversationId, waiting.turnId, waiting.park);
  if (parked?.park.approvalId === undefined) return;
  const answer = await store.decideApproval(parked.park.approvalId, 'expired', 'clock');
  if (answer.kind === 'not_due') return delay({ job, token }, answer.expiresAt, store.clock());
  if (answer.kind === 'decided')
    logger.info({ ...waiting, status: answer.status }, 'approval expired');
}
