import {
  InvalidInputError,
  type CallResult,
  type Observation,
  type ToolContext,
  type ToolContract,
  type VerificationRead,
} from '../contracts/index.ts';
import { within, type CallEnd } from '../calls/index.ts';
import { canonicalJson, measureOf } from '../loop/index.ts';
import type {
  ApprovalState,
  CallContext,
  CallState,
  Clock,
  Judge,
  JudgeQuestion,
  Toolbox,
  ToolDescription,
} from '../loop/index.ts';
import { ToolRefusal, ToolUnavailable } from './errors.ts';
import type { ToolRegistry } from './registry.ts';

/** Largest tool result that is stored and shown whole, in bytes of canonical JSON. */
export const MAX_OBSERVATION_BYTES = 16_384;

/**
 * Runs tools and settles every call, whatever the tool does: an answer, a refusal, a failure, or `unknown`. The texts
 * are ours: neither the model nor the tool gets to word how a call went.
 */
export class ToolExecutor implements Toolbox {
  readonly #registry: ToolRegistry;
  readonly #clock: Clock;
  readonly #judge: Judge | undefined;

  /** @throws InvalidInputError when a tool asks for a judge and there is none */
  constructor(registry: ToolRegistry, clock: Clock, judge?: Judge) {
    this.#registry = registry;
    this.#clock = clock;
    this.#judge = judge;
    const [unjudged] = judge === undefined ? registry.judged() : [];
    if (unjudged !== undefined) {
      throw new InvalidInputError(
        'verifier',
        null,
        `${unjudged} is verified by a judge; configure one`,
      );
    }
  }

  find(name: string): ToolContract | undefined {
    return this.#registry.find(name);
  }

  descriptions(): readonly ToolDescription[] {
    return this.#registry.descriptions;
  }

  async call(call: CallState, context: CallContext): Promise<CallResult> {
    const { contract, input } = this.#prepared(call);
    const name = contract.name;
    const answer = await this.#within(context, (full) => contract.run(input, full));
    if (answer.kind === 'answered') {
      const output = contract.output.safeParse(answer.value);
      if (!output.success) return this.#unusable(contract);
      const owner = contract.owner?.(output.data);
      if (owner !== undefined && owner !== context.principal.id) {
        return {
          kind: 'rejected',
          check: 'authorization',
          code: 'not_yours',
          message: 'this record does not belong to the requester; its content is withheld.',
        };
      }
      return { kind: 'ok', observation: this.#observation(call.id, name, output.data) };
    }
    if (answer.kind === 'threw' && answer.error instanceof ToolRefusal) {
      const { code, message } = answer.error;
      return { kind: 'refused', code, message: `${name} refused: ${message}` };
    }
    if (answer.kind === 'threw' && answer.error instanceof ToolUnavailable) {
      const { code } = answer.error;
      return {
        kind: 'failed',
        code,
        message: `${name} is unavailable (${code}).`,
        transient: true,
      };
    }
    const code = answer.kind === 'cut' ? CUTS[answer.by] : 'no_answer';
    const left = answer.kind === 'cut' && answer.abandoned ? { abandoned: true } : {};
    return contract.effect === 'write'
      ? {
          kind: 'unknown',
          code,
          message: `${name} gave no answer; whether it happened is not known.`,
          ...left,
        }
      : {
          kind: 'failed',
          code,
          message: `${name} gave no usable answer.`,
          transient: true,
          ...left,
        };
  }

  async verify(call: CallState, context: CallContext): Promise<VerificationRead> {
    const { contract, input } = this.#prepared(call);
    const { verify } = contract;
    const startedAt = this.#clock.now();
    if (verify === undefined) return { verdict: 'unknown', at: startedAt, latencyMs: 0 };
    // The answer itself is the evidence of the lowest level; without one the system must be asked after all.
    const answer: CallEnd<unknown> =
      verify.level === 'schema' && call.result?.kind === 'ok'
        ? { kind: 'answered', value: call.result.observation.data }
        : await this.#within(context, (full) => verify.read(input, full));
    const at = this.#clock.now();
    const latencyMs = at - startedAt;
    if (answer.kind !== 'answered') {
      return { verdict: 'unknown', at, latencyMs, failed: unanswered(answer) };
    }
    const observation = this.#observation(call.id, `reread:${contract.name}`, answer.value);
    // A read proves something about the moment it was sent, not about the one it came back.
    const read = { at: startedAt, observation, latencyMs };
    if (verify.level !== 'judge') {
      return { verdict: verify.landed(answer.value, input, context.operation), ...read };
    }
    const said = call.result?.kind === 'ok' ? call.result.observation.data : null;
    const { criterion = '' } = verify;
    const tool = contract.name;
    const judged = await this.#judgement(
      { tool, criterion, arguments: input, said, read: answer.value },
      context,
    );
    return { ...read, ...judged };
  }

  async approvalState(call: CallState, context: CallContext): Promise<ApprovalState> {
    const { contract, input } = this.#prepared(call);
    const read = contract.approvalState;
    if (read === undefined) return { ok: true, state: null };
    const answer = await this.#within(context, (full) => read(input, full));
    return answer.kind === 'answered'
      ? { ok: true, state: answer.value }
      : {
          ok: false,
          code: 'state_unreadable',
          message: 'the state a person would have to see cannot be read now.',
          failed: unanswered(answer),
        };
  }

  /** A judge that would cost more than is left, or gives no answer, leaves the verdict open; the read says which. */
  async #judgement(
    question: JudgeQuestion,
    { budget, validUntil, ...limits }: CallContext,
  ): Promise<Pick<VerificationRead, 'verdict' | 'judge' | 'failed'>> {
    const judge = this.#judge;
    if (judge === undefined) return { verdict: 'unknown' };
    const { tokens, costMicros } = judge.estimate(question);
    if (tokens > budget.tokens || costMicros > budget.costMicros) {
      return { verdict: 'unknown', failed: { code: 'over_budget' } };
    }
    const timeoutMs = validUntil - this.#clock.now();
    const end = await within({ ...limits, timeoutMs }, (call) =>
      judge.judge(question, { ...call, timeoutMs }),
    );
    if (end.kind !== 'answered') {
      // As a model call whose answer was lost, it is paid at its estimate.
      const usage = {
        inputTokens: Math.ceil(tokens),
        outputTokens: 0,
        costMicros: Math.ceil(costMicros),
      };
      return { verdict: 'unknown', failed: unanswered(end), judge: { usage } };
    }
    const { verdict, ...how } = end.value;
    return { verdict, judge: how };
  }

  #prepared(call: CallState): { contract: ToolContract; input: unknown } {
    const contract = this.#registry.find(call.tool);
    if (contract === undefined) throw new RangeError(`there is no tool ${call.tool}`);
    return { contract, input: contract.input.parse(call.arguments) };
  }

  #within<T>(
    { validUntil, silenceMs, stop, budget: _budget, ...context }: CallContext,
    run: (full: ToolContext) => Promise<T>,
  ): Promise<CallEnd<T>> {
    const timeoutMs = validUntil - this.#clock.now();
    const limits = { timeoutMs, silenceMs, ...(stop === undefined ? {} : { stop }) };
    return within(limits, (call) => run({ ...context, validUntil, ...call }));
  }

  /** An answer that breaks its contract proves nothing: a write may have happened all the same. */
  #unusable(contract: ToolContract): CallResult {
    const code = 'invalid_output';
    return contract.effect === 'write'
      ? {
          kind: 'unknown',
          code,
          message: `${contract.name} answered something unreadable; whether it happened is not known.`,
        }
      : {
          kind: 'failed',
          code,
          message: `${contract.name} answered something unreadable.`,
          transient: false,
        };
  }

  #observation(callId: string, provenance: string, data: unknown): Observation {
    const json = canonicalJson(data);
    const measure = measureOf(json);
    const base = {
      callId,
      provenance,
      trust: 'untrusted',
      at: this.#clock.now(),
      ...measure,
    } as const;
    if (measure.size <= MAX_OBSERVATION_BYTES) return { ...base, data };
    const shown = Math.floor(MAX_OBSERVATION_BYTES / 4);
    const cut = `${json.slice(0, shown)} [cut: ${shown} of ${json.length} characters shown]`;
    return { ...base, data: cut, truncated: true };
  }
}

/** Why a read or its judge has no answer. */
function unanswered(
  end: Exclude<CallEnd<unknown>, { kind: 'answered' }>,
): NonNullable<VerificationRead['failed']> {
  if (end.kind === 'threw') return { code: 'no_answer' };
  return { code: CUTS[end.by], ...(end.abandoned ? { abandoned: true } : {}) };
}

const CUTS = { timeout: 'timed_out', silence: 'silent', stop: 'stopped' } as const;
