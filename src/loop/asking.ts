import { proposalSchema, type ModelFailureKind, type TurnEvent } from '../contracts/index.ts';
import type { ModelAnswer } from './ports.ts';

/** What a model answered, as an event. What is no proposal of ours is a failure of its own class and never acted on. */
export function answered(answer: ModelAnswer, at: number, latencyMs: number): TurnEvent {
  const { usage } = answer;
  if (!answer.ok) {
    const { failure } = answer;
    const paid = usage === undefined ? {} : { usage };
    return { type: 'model_failed', at, failure, latencyMs, ...paid };
  }
  const proposal = proposalSchema.safeParse(answer.proposal);
  if (proposal.success) {
    const { usage: used, model } = answer;
    return { type: 'model_responded', at, proposal: proposal.data, usage: used, model, latencyMs };
  }
  const detail = proposal.error.issues[0]?.message ?? '';
  const failure = { kind: 'invalid_proposal', detail } as const;
  return { type: 'model_failed', at, failure, usage: answer.usage, latencyMs };
}

/** Failures that tell about an account and not about one call. */
const OF_ACCOUNT: ReadonlySet<ModelFailureKind> = new Set([
  'rate_limited',
  'concurrency_limited',
  'quota_exhausted',
]);

/** Until when the account of the model is limited, if the answer says so: every turn should know, not only this one. */
export function limitOf(answer: ModelAnswer): number | undefined {
  return !answer.ok && OF_ACCOUNT.has(answer.failure.kind) ? answer.failure.retryAt : undefined;
}
