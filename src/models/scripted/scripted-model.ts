import { TurnkeeperError, type ProposalInput, type ModelFailure } from '../../contracts/index.ts';
import { type Model, type ModelAnswer, type View } from '../../loop/index.ts';

/** What a policy answers: a proposal, or the way a real model would have failed. */
export type ScriptedAnswer = ProposalInput | { kind: 'fails'; failure: ModelFailure };

/** A policy that knows what it expects and got something else. */
export class UnexpectedModelCallError extends TurnkeeperError {
  readonly code = 'unexpected_model_call';

  constructor(call: number, problem: string) {
    super(`scripted model, call ${call}: ${problem}`);
  }
}

export type ScriptedModelOptions = {
  /** Micro-dollars per token of either kind; 0 by default. */
  microsPerToken?: number;
};

/**
 * A model whose decisions are a function of what it sees: deterministic, typed, free. Ships with the product, for
 * tests, demos and dry runs.
 */
export function scriptedModel(
  policy: (view: View) => ScriptedAnswer | Promise<ScriptedAnswer>,
  options: ScriptedModelOptions = {},
): Model {
  const { microsPerToken = 0 } = options;
  return {
    estimate(view) {
      const tokens = countTokens(view) + ANSWER_TOKENS;
      return { tokens, costMicros: tokens * microsPerToken };
    },
    async ask(view): Promise<ModelAnswer> {
      const answer = await policy(view);
      if (answer.kind === 'fails') return { ok: false, failure: answer.failure };
      const inputTokens = countTokens(view);
      const outputTokens = Math.ceil(JSON.stringify(answer).length / CHARACTERS_PER_TOKEN);
      const costMicros = (inputTokens + outputTokens) * microsPerToken;
      const usage = { inputTokens, outputTokens, costMicros };
      return { ok: true, proposal: answer, usage, model: 'scripted' };
    },
  };
}

/** Plays a fixed list of answers; a call beyond its end is an error, not an answer. */
export function scriptedSequence(answers: readonly ScriptedAnswer[]): Model {
  let call = 0;
  return scriptedModel(() => {
    const answer = answers[call];
    call += 1;
    if (answer === undefined) {
      throw new UnexpectedModelCallError(call, `the script has only ${answers.length} answers`);
    }
    return answer;
  });
}

const CHARACTERS_PER_TOKEN = 4;
const ANSWER_TOKENS = 200;

const counts = new WeakMap<View, number>();

/** A rough count is enough where tokens cost nothing, and it depends on what is shown only. */
function countTokens(view: View): number {
  const known = counts.get(view);
  if (known !== undefined) return known;
  const shown = JSON.stringify([view.messages, view.rounds]);
  const count = Math.ceil((shown.length + view.instructions.length) / CHARACTERS_PER_TOKEN);
  counts.set(view, count);
  return count;
}
