import type { Settings } from '../config/index.ts';
import type { BatchView, Reprocess } from '../producers/reprocess.ts';
import { Batches } from '../store/batches.ts';
import { withQueues, type Connected } from './connection.ts';
import { CommandError, EXIT, notFound } from './errors.ts';

/** Runs work on batches. @throws CommandError when Redis does not answer */
export async function withReprocess<T>(
  settings: Settings,
  work: (connected: Connected & { reprocess: Reprocess }) => Promise<T>,
): Promise<T> {
  return withQueues(settings, async (connected) => {
    const [{ BatchControl }, { Reprocess }] = await Promise.all([
      import('../producers/batch-run.ts'),
      import('../producers/reprocess.ts'),
    ]);
    const { store, records, queues } = connected;
    const batches = new Batches(store);
    const now = (): number => store.clock().now();
    const control = new BatchControl(batches, queues, now);
    return work({ ...connected, reprocess: new Reprocess({ batches, records, control, now }) });
  });
}

/** @throws CommandError no such batch (3) */
export async function batchOf(reprocess: Reprocess, id: string): Promise<BatchView> {
  const batch = await reprocess.status(id);
  if (batch === undefined) throw noBatch(id);
  return batch;
}

export function noBatch(id: string): CommandError {
  return notFound('batch', id, 'plan one with "turnkeeper reprocess plan"');
}

export function wrongState(id: string, verb: string, status: string): CommandError {
  return new CommandError({
    code: 'wrong_state',
    message: `Not ${verb}: batch ${id} is ${status}. You changed nothing`,
    next: `turnkeeper reprocess status ${id}`,
    exitCode: EXIT.conflict,
  });
}
