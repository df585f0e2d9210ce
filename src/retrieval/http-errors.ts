import { TurnkeeperError } from '../contracts/index.ts';

/** An embedding or reranking endpoint gave no usable answer. The text is ours; the answer's body is not repeated. */
export class EndpointError extends TurnkeeperError {
  readonly code = 'endpoint_failed';
  override readonly retryable: boolean;
  /** HTTP status; absent when there was no answer. */
  readonly status: number | undefined;

  constructor(what: string, problem: { status?: number; detail: string }, options?: ErrorOptions) {
    super(`${what}: ${problem.detail}`, options);
    this.status = problem.status;
    this.retryable = problem.status === undefined || isTransient(problem.status);
  }
}

export function isTransient(status: number): boolean {
  return status === 408 || status === 409 || status === 429 || status >= 500;
}
