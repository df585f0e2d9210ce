/** A refusal the caller can act on. `code` is stable; `message` says what was seen and what to do. */
export class Problem extends Error {
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.name = 'Problem';
    this.status = status;
    this.code = code;
  }
}

/** What a service sends back: one HTTP answer. */
export interface Answer {
  status: number;
  body: unknown;
  headers?: Record<string, string>;
}

export function answerOf(problem: Problem): Answer {
  return {
    status: problem.status,
    body: { error: { code: problem.code, message: problem.message } },
  };
}
