import { TurnkeeperError } from '../contracts/index.ts';

/** What a command ends with. Scripts may rely on them. */
export const EXIT = {
  ok: 0,
  failed: 1,
  usage: 2,
  notFound: 3,
  conflict: 5,
  /** Done, and something was found that somebody should look at. */
  findings: 6,
  tryAgain: 75,
  interrupted: 130,
} as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** A command cannot do what was asked: what is wrong, what to do next, and the code it ends with. */
export class CommandError extends TurnkeeperError {
  readonly code: string;
  readonly next: string | null;
  readonly exitCode: ExitCode;
  override readonly retryable: boolean;

  constructor(
    problem: {
      code: string;
      message: string;
      next?: string;
      exitCode: ExitCode;
      retryable?: boolean;
    },
    options?: ErrorOptions,
  ) {
    super(problem.message, options);
    this.code = problem.code;
    this.next = problem.next ?? null;
    this.exitCode = problem.exitCode;
    this.retryable = problem.retryable ?? false;
  }
}

export function usageError(message: string, next?: string): CommandError {
  return new CommandError({
    code: 'usage',
    message,
    exitCode: EXIT.usage,
    ...(next === undefined ? {} : { next }),
  });
}

export function notFound(what: string, id: string, next: string): CommandError {
  return new CommandError({
    code: 'not_found',
    message: `there is no ${what} ${id}`,
    next,
    exitCode: EXIT.notFound,
  });
}
