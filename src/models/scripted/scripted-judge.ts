import type { Judge, JudgeAnswer, JudgeQuestion } from '../../loop/index.ts';

/** A judge whose verdicts are a function of the question. `costMicros` is what each of them costs; 0 by default. */
export function scriptedJudge(
  policy: (
    question: JudgeQuestion,
  ) => JudgeAnswer['verdict'] | Pick<JudgeAnswer, 'verdict' | 'rationale'>,
  { costMicros = 0 }: { costMicros?: number } = {},
): Judge {
  const tokensOf = (question: JudgeQuestion): number =>
    Math.ceil(JSON.stringify(question).length / 4);
  return {
    estimate: (question) => ({ tokens: tokensOf(question) + 10, costMicros }),
    judge(question) {
      const answer = policy(question);
      const usage = { inputTokens: tokensOf(question), outputTokens: 10, costMicros };
      const said = typeof answer === 'string' ? { verdict: answer } : answer;
      return Promise.resolve({ ...said, usage, model: 'scripted' });
    },
  };
}
