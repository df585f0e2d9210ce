import type { Job, Worker } from 'bullmq';
import { parkedChildSchema, type VerificationRead } from '../contracts/index.ts';
import {
  budgetLeft,
  principalOf,
  readPlan,
  timeoutOf,
  type AgentRules,
  type CallState,
  type Toolbox,
} from '../loop/index.ts';
import { VerificationPendingError } from './errors.ts';
import { noMeter } from '../telemetry/metrics/index.ts';
import { delay } from './settle.ts';
import { startWorker, type DutyOptions } from './worker-options.ts';

export type VerificationWorkerOptions = DutyOptions & {
  tools: Toolbox;
  rules: Pick<AgentRules, 'caps'>;
};

/**
 * Re-reads the world for a parked turn until it is certain or the attempts are used up. Stores each verdict in the turn's
 * record and never touches the claim; its end wakes the turn.
 */
export function startVerificationWorker(options: VerificationWorkerOptions, tag: string): Worker {
  return startWorker('verifications', tag, options, (job, token) => verify(options, job, token));
}

async function verify(
  { store, tools, rules, logger, meter = noMeter }: VerificationWorkerOptions,
  job: Job,
  token: string,
): Promise<void> {
  const waiting = parkedChildSchema.parse(job.data);
  const parked = await store.parkedTurn(waiting.conversationId, waiting.turnId, waiting.park);
  const call = parked?.calls.find((one) => one.step === 'verifying');
  if (parked === undefined || call?.effect === undefined) return;
  const now = store.clock().now();
  // BullMQ's delay runs by the clock of whichever host added the job.
  if (job.attemptsMade === 0 && now < parked.park.dueAt) {
    return delay({ job, token }, parked.park.dueAt, store.clock());
  }

  const read = await tools.verify(call, {
    operation: call.effect.operation,
    validUntil: now + timeoutOf(tools.find(call.tool)),
    principal: principalOf(parked.messages),
    silenceMs: parked.silenceMs,
    budget: budgetLeft(parked.accounts, parked, rules, now),
  });
  const number = job.attemptsMade + 1;
  const { attempts, backoffMs, maxBackoffMs } = readPlan(tools, call);
  const backOffMs = Math.min(maxBackoffMs, backoffMs * 2 ** number);
  // A read that could only come after the end of the turn's time is not waited for.
  const final = number >= attempts || store.clock().now() + backOffMs >= parked.deadline;
  const stored = await store.recordVerdict(waiting, number, read, final);
  logger.info(
    { ...waiting, tool: call.tool, number, verdict: read.verdict, final },
    'verification read',
  );
  if (stored === 'stale') meter.add('fenced_writes_total', { verb: 'verdict' });
  if (stored === 'stale' || final || isConclusive(read, call)) return;
  // Jitter keeps a thousand re-reads that became due together from staying together.
  throw new VerificationPendingError(Math.round(backOffMs * (0.9 + Math.random() * 0.2)));
}

function isConclusive(read: VerificationRead, { effect }: CallState): boolean {
  if (read.verdict === 'landed' || read.verdict === 'blocked') return true;
  const expired = effect?.validUntil !== undefined && read.at > effect.validUntil;
  return read.verdict === 'not_landed' && effect?.answered === false && expired;
}
