import { randomUUID } from 'node:crypto';
import type { Job, Worker } from 'bullmq';
import {
  NOT_OURS,
  pokeSchema,
  type Delivery,
  type DeliveryTarget,
  type OutgoingMessage,
} from '../contracts/index.ts';
import { digest, LostClaimError } from '../loop/index.ts';
import { within } from '../calls/index.ts';
import type { DeliveryClaim, Store } from '../store/index.ts';
import type { Tracer } from '../telemetry/otel/index.ts';
import { noMeter } from '../telemetry/metrics/index.ts';
import { delay } from './settle.ts';
import { startWorker, type DutyOptions } from './worker-options.ts';

export type DeliveryWorkerOptions = DutyOptions & {
  target: DeliveryTarget;
  tracer?: Tracer;
  /** How long one send may take; until then nobody else looks at the delivery. Milliseconds. */
  sendTimeoutMs: number;
};

/** After this many sends that certainly did not arrive, an operator decides. */
const MAX_ATTEMPTS = 12;
const LONGEST_BACK_OFF_MS = 300_000;

/**
 * Sends what committed turns left in a conversation's outbox, in order, one at a time. The target has no idempotency
 * key: nothing is sent a second time without a re-read in between.
 */
export function startDeliveryWorker(options: DeliveryWorkerOptions, tag: string): Worker {
  return startWorker('deliveries', tag, options, (job, token) => sendAll(options, job, token));
}

async function sendAll(options: DeliveryWorkerOptions, job: Job, jobToken: string): Promise<void> {
  const { store, sendTimeoutMs, logger, meter = noMeter } = options;
  const { conversationId } = pokeSchema.parse(job.data);
  const token = randomUUID();
  for (;;) {
    const claim = await store.claimDelivery(conversationId, token, sendTimeoutMs);
    if (claim.kind === 'empty') return;
    if (claim.kind === 'wait') return delay({ job, token: jobToken }, claim.until, store.clock());
    try {
      const next = await deliver(options, conversationId, token, claim);
      if (next === 'done') return;
      if (next !== 'more') return await delay({ job, token: jobToken }, next, store.clock());
    } catch (error) {
      if (!(error instanceof LostClaimError)) throw error;
      meter.add('fenced_writes_total', { verb: 'delivery' });
      logger.warn({ conversationId, deliveryId: claim.delivery.id }, 'delivery claim lost');
      return;
    }
  }
}

/** Nothing from a target that is silent for too long, or throws. */
async function inTime<T>(timeoutMs: number, call: () => Promise<T>): Promise<T | undefined> {
  const end = await within({ timeoutMs, silenceMs: timeoutMs }, call);
  return end.kind === 'answered' ? end.value : undefined;
}

/**
 * A ticket that is not ours to write in any more drops the text, and people are told what the customer did not get. Any
 * other refusal waits for an operator.
 */
function refused(
  { id, kind, text, turnId }: Delivery,
  reason: string,
): Parameters<Store['settleDelivery']>[3] {
  if (!NOT_OURS.some((one) => one === reason)) return { status: 'unknown', reason };
  if (kind === 'note') return { status: 'dropped', reason };
  const note: Delivery = {
    id: digest('not sent', id),
    kind: 'note',
    text: `Not sent to the customer (${reason}): ${text}`,
    turnId,
  };
  return { status: 'dropped', reason, note };
}

/** One step with the oldest delivery; answers whether there is more to do, or when to come back. */
async function deliver(
  { store, target, logger, meter = noMeter, tracer, sendTimeoutMs }: DeliveryWorkerOptions,
  conversationId: string,
  token: string,
  claim: Extract<DeliveryClaim, { kind: 'send' | 'recheck' }>,
): Promise<'more' | 'done' | number> {
  const { delivery, source, externalId, attempts, until } = claim;
  const { id, kind, text, turnId } = delivery;
  const startedAt = store.clock().now();
  const message: OutgoingMessage = { source, externalId, kind, text, reference: id };
  const settle = async (
    settled: Parameters<Store['settleDelivery']>[3],
  ): Promise<'more' | 'done'> => {
    const { left } = await store.settleDelivery(conversationId, id, token, settled);
    const { status } = settled;
    const endedAt = store.clock().now();
    meter.add('deliveries_total', { delivery_kind: kind, delivery_status: status });
    meter.observe(
      'delivery_duration_seconds',
      { delivery_kind: kind },
      (endedAt - startedAt) / 1_000,
    );
    tracer?.delivery({
      ...{ turnId, deliveryId: id, kind, status },
      ...{ attempt: attempts, startedAt, endedAt },
    });
    logger.info(
      { conversationId, turnId, deliveryId: id, kind, status: settled.status },
      'delivery',
    );
    return left > 0 ? 'more' : 'done';
  };
  const tryAgain = async (reason: string, atLeastMs = 0): Promise<'more' | 'done' | number> => {
    if (attempts >= MAX_ATTEMPTS) return settle({ status: 'unknown', reason });
    const backOffMs = Math.min(LONGEST_BACK_OFF_MS, 250 * 2 ** attempts);
    const notBefore = store.clock().now() + Math.max(atLeastMs, backOffMs);
    await settle({ status: 'pending', reason, notBefore });
    return notBefore;
  };

  if (claim.kind === 'recheck') {
    const found = await inTime(sendTimeoutMs, () => target.find(message));
    if (found?.kind === 'found') return settle({ status: 'sent', targetId: found.targetId });
    // Not there, and the time of the earlier send is over: pending again, so that the next claim sends it.
    if (found?.kind === 'absent') return tryAgain('not_found_on_reread');
    return until;
  }
  // What is sent late in its time may arrive after it, and after the re-read of whoever takes over: half is for arriving.
  const result = (await inTime(sendTimeoutMs, () =>
    target.send(message, until - sendTimeoutMs / 2),
  )) ?? { kind: 'unknown' as const, reason: 'no_answer' };
  switch (result.kind) {
    case 'sent':
      return settle({ status: 'sent', targetId: result.targetId });
    case 'refused':
      return settle(refused(delivery, result.reason));
    case 'not_sent':
      return tryAgain(result.reason, result.retryAfterMs);
    case 'unknown':
      // Once its time is over, a re-read tells.
      return until;
    default:
      return result satisfies never;
  }
}
