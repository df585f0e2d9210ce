import {
  BrokenCircuitError,
  circuitBreaker,
  CircuitState,
  CountBreaker,
  handleWhenResult,
  type CircuitBreakerPolicy,
} from 'cockatiel';
import type { ModelFailure, ModelFailureKind, Usage } from '../contracts/index.ts';
import type { Model, ModelAnswer } from '../loop/index.ts';

/** What says something about the endpoint, and not about the request or the rate of ours. */
const FAULTS: ReadonlySet<ModelFailureKind> = new Set([
  'timeout',
  'silence',
  'quota_exhausted',
  'overloaded',
  'server_error',
  'network_failure',
]);

export type BreakerOptions = {
  /** How long an endpoint gets a rest before one call tries it again. Milliseconds, default 15,000. */
  restMs?: number;
};

const DEFAULT_REST_MS = 15_000;
/** Half of the last twenty calls, and no fewer than five. */
const LIMIT = { threshold: 0.5, size: 20, minimumNumberOfCalls: 5 };

/** Watches one endpoint; models behind the same one share it. */
export class EndpointBreaker {
  readonly #restMs: number;
  readonly #policy: CircuitBreakerPolicy;
  #closedUntil = 0;

  constructor(options: BreakerOptions = {}) {
    this.#restMs = options.restMs ?? DEFAULT_REST_MS;
    this.#policy = circuitBreaker(handleWhenResult(isFault), {
      halfOpenAfter: this.#restMs,
      breaker: new CountBreaker(LIMIT),
    });
    this.#policy.onBreak(() => {
      this.#closedUntil = Date.now() + this.#restMs;
    });
  }

  /** Makes the call, or answers `unavailable` with when to come back while the endpoint rests. Never waits. */
  async run(ask: () => Promise<ModelAnswer>): Promise<ModelAnswer> {
    // One call is trying the endpoint; the others need not wait for how it comes out.
    if (this.#policy.state === CircuitState.HalfOpen) return this.#unavailable();
    try {
      return await this.#policy.execute(ask);
    } catch (error) {
      if (error instanceof BrokenCircuitError) return this.#unavailable();
      throw error;
    }
  }

  #unavailable(): ModelAnswer {
    const now = Date.now();
    const retryAt = this.#closedUntil > now ? this.#closedUntil : now + this.#restMs;
    return { ok: false, failure: { kind: 'unavailable', detail: 'the endpoint rests', retryAt } };
  }
}

function isFault(answer: unknown): boolean {
  const { ok, failure } = answer as ModelAnswer & { failure?: { kind: ModelFailureKind } };
  return !ok && failure !== undefined && FAULTS.has(failure.kind);
}

/** A model whose endpoint gets a rest when it fails too often. */
export function withBreaker<M extends Model>(model: M, breaker = new EndpointBreaker()): M {
  return { ...model, ask: (view, call) => breaker.run(() => model.ask(view, call)) };
}

/** After these another model can help at once; after the others it would be asked the same in vain, or has no time left. */
const HELPED: ReadonlySet<ModelFailureKind> = new Set([
  'rate_limited',
  'concurrency_limited',
  'quota_exhausted',
  'authentication_failed',
  'overloaded',
  'server_error',
  'network_failure',
  'unavailable',
]);

/**
 * Asks another model in the same call when the first one cannot answer; until the moment at which the first one wants to
 * be asked again, only the other. The answer names the model that gave it. When both fail, the turn is told what the first
 * one said, and comes back when the first of them allows it.
 */
export function withFallback(
  first: Model,
  second: Model,
): Model & { readonly members: readonly Model[] } {
  // One that is limited does not keep turns from the other: only when both are, is the account of the two.
  const accounts = [first.account, second.account].filter((name) => name !== undefined);
  const account = accounts.length === 2 ? { account: [...new Set(accounts)].join('+') } : {};
  let away: ModelFailure = { kind: 'unavailable', retryAt: 0 };
  const askFirst: Model['ask'] = async (view, call) => {
    if (Date.now() < (away.retryAt ?? 0)) return { ok: false, failure: away };
    const answer = await first.ask(view, call);
    if (!answer.ok && answer.failure.retryAt !== undefined) away = answer.failure;
    return answer;
  };
  return {
    ...account,
    members: [first, second],
    estimate(view) {
      const [one, other] = [first.estimate(view), second.estimate(view)];
      return {
        tokens: Math.max(one.tokens, other.tokens),
        costMicros: Math.max(one.costMicros, other.costMicros),
      };
    },
    async ask(view, call) {
      const answer = await askFirst(view, call);
      if (answer.ok || call.signal.aborted || !HELPED.has(answer.failure.kind)) return answer;
      const helped = await second.ask(view, call);
      const usage = sum(answer.usage, helped.usage);
      if (helped.ok) return { ...helped, usage: usage ?? helped.usage };
      const spent = usage === undefined ? {} : { usage };
      // It was reached, and what it said will not change by coming back.
      if (!HELPED.has(helped.failure.kind)) return { ...helped, ...spent };
      const moments = [answer.failure.retryAt, helped.failure.retryAt].filter(
        (at) => at !== undefined,
      );
      const retryAt = moments.length === 2 ? { retryAt: Math.min(...moments) } : {};
      const failure = { ...answer.failure, ...retryAt };
      return { ok: false, failure, ...spent };
    },
  };
}

function sum(one: Usage | undefined, other: Usage | undefined): Usage | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return {
    inputTokens: one.inputTokens + other.inputTokens,
    outputTokens: one.outputTokens + other.outputTokens,
    costMicros: one.costMicros + other.costMicros,
  };
}
