import type { Usage } from '../contracts/index.ts';

const NOTHING: Usage = { inputTokens: 0, outputTokens: 0, costMicros: 0 };

/** What a turn may still pay for judges, and what it has paid. An estimate is paid before the call and settled after it. */
export class Purse {
  readonly #left: { tokens: number; costMicros: number };
  spent: Usage = NOTHING;

  constructor(left: { tokens: number; costMicros: number }) {
    this.#left = left;
  }

  /** Undefined, and nothing is called, when the estimate does not fit. A call without an answer stays paid at its estimate. */
  async pay<Answer extends { usage: Usage }>(
    estimate: { tokens: number; costMicros: number },
    call: () => Promise<Answer>,
  ): Promise<Answer | undefined> {
    const before = this.spent;
    const reserved: Usage = {
      inputTokens: before.inputTokens + Math.ceil(estimate.tokens),
      outputTokens: before.outputTokens,
      costMicros: before.costMicros + Math.ceil(estimate.costMicros),
    };
    const { tokens, costMicros } = this.#left;
    const isTooMuch =
      reserved.inputTokens + reserved.outputTokens > tokens || reserved.costMicros > costMicros;
    if (isTooMuch) return undefined;
    this.spent = reserved;
    const answer = await call();
    this.spent = {
      inputTokens: before.inputTokens + answer.usage.inputTokens,
      outputTokens: before.outputTokens + answer.usage.outputTokens,
      costMicros: before.costMicros + answer.usage.costMicros,
    };
    return answer;
  }
}
