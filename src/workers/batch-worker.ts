import type { Job, Worker } from 'bullmq';
import { batchStepSchema } from '../contracts/index.ts';
import type { Queues } from '../producers/index.ts';
import { Batches, Records } from '../store/index.ts';
import { BatchStep } from './batch-step.ts';
import { delay } from './settle.ts';
import { startWorker, type DutyOptions } from './worker-options.ts';

type BatchWorkerOptions = DutyOptions & { queues: Queues };

/**
 * Moves batches on: starts cases at their rate, part by part, and stops a batch that does not do well. One step of a batch
 * runs at a time, in whichever worker process; all it knows stands in the store.
 */
export function startBatchWorker(options: BatchWorkerOptions, tag: string): Worker {
  const { store, queues } = options;
  const batches = new Batches(store);
  const parts = { batches, queues, records: new Records(store), clock: store.clock() };
  return startWorker('batches', tag, options, async (job: Job, token: string) => {
    const { batchId } = batchStepSchema.parse(job.data);
    const nextIn = await new BatchStep(batchId, parts).take();
    if (nextIn !== undefined) {
      await delay({ job, token }, store.clock().now() + nextIn, store.clock());
    }
  });
}
