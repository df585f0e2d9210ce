import { setTimeout as elapse } from 'node:timers/promises';
import type { Model, ModelAnswer, ModelCall, ModelClient } from '../loop/index.ts';
import { within } from './outside-call.ts';

/** A moment to come back to that is no further away is waited for inside the call; for others the turn parks. Milliseconds. */
export const SHORT_WAIT_MS = 1_000;
/** How often a call that was turned away is made again. */
const MOST_RETRIES = 2;
/** Between two signs of life of a call that waits. Milliseconds. */
const SIGN_MS = 50;

/**
 * Puts the runtime's limits around a model. A provider that throws is a defect; the turn gets a failure all the same.
 *
 * @param onlooker asked before each call for what takes the pieces of its answer as they are written
 */
export function modelClient(
  model: Model,
  onlooker?: () => NonNullable<ModelCall['writing']>,
): ModelClient {
  return {
    ...(model.account === undefined ? {} : { account: model.account }),
    estimate: (view) => model.estimate(view),
    async ask(view, limits): Promise<ModelAnswer> {
      const { timeoutMs } = limits;
      const writing = onlooker?.();
      const looked = writing === undefined ? {} : { writing };
      const end = await within(limits, (call) =>
        patiently({ ...call, ...looked, timeoutMs }, (again) => model.ask(view, again)),
      );
      switch (end.kind) {
        case 'answered':
          return end.value;
        case 'threw':
          throw end.error;
        case 'cut': {
          const kind = end.by === 'stop' ? 'aborted' : end.by;
          return { ok: false, failure: { kind, ...(end.abandoned ? { abandoned: true } : {}) } };
        }
        default:
          return end satisfies never;
      }
    },
  };
}

/** Asks once more where the provider wants to be asked again in a moment that lies within the call's own time. */
async function patiently(
  call: ModelCall,
  ask: (call: ModelCall) => Promise<ModelAnswer>,
): Promise<ModelAnswer> {
  const endsAt = Date.now() + call.timeoutMs;
  for (let retries = 0; ; retries += 1) {
    const answer = await ask({ ...call, timeoutMs: endsAt - Date.now() });
    const waitMs = retries < MOST_RETRIES ? waitOf(answer) : undefined;
    if (waitMs === undefined || Date.now() + waitMs >= endsAt || call.signal.aborted) return answer;
    const signs = setInterval(call.heartbeat, SIGN_MS);
    try {
      await elapse(waitMs, undefined, { signal: call.signal });
    } finally {
      clearInterval(signs);
    }
  }
}

/** Milliseconds; nothing where the turn has to come back another time, or has paid for the answer. */
function waitOf(answer: ModelAnswer): number | undefined {
  if (answer.ok || answer.usage !== undefined || answer.failure.retryAt === undefined)
    return undefined;
  const waitMs = Math.max(0, answer.failure.retryAt - Date.now());
  return waitMs <= SHORT_WAIT_MS ? waitMs : undefined;
}
