import { randomUUID } from 'node:crypto';
import { TurnkeeperError } from '../contracts/index.ts';
import { CommandError, EXIT, type ExitCode } from './errors.ts';
import { visible, visibleJson } from './visible-text.ts';

type Problem = {
  code: string;
  message: string;
  next: string | null;
  retryable: boolean;
  exitCode: ExitCode;
};

/** Says on stderr what went wrong, in the format the caller asked for, and answers the exit code. */
export function reportProblem(error: unknown, argv: readonly string[]): ExitCode {
  const { code, message, next, retryable, exitCode } = problemOf(error);
  if (wantsJson(argv)) {
    const request_id = randomUUID();
    const shape = { error: { code, message: visible(message), next, retryable, request_id } };
    process.stderr.write(`${visibleJson(shape)}\n`);
  } else {
    process.stderr.write(`error: ${visible(message)}\n`);
    if (next !== null) process.stderr.write(`  next: ${visible(next)}\n`);
  }
  return exitCode;
}

function problemOf(error: unknown): Problem {
  if (error instanceof CommandError) return error;
  if (error instanceof TurnkeeperError) {
    const { code, message, retryable } = error;
    const exitCode = BAD_INPUT.includes(code) ? EXIT.usage : EXIT.failed;
    return { code, message, next: null, retryable, exitCode };
  }
  if (lostRedis(error)) {
    return {
      code: 'redis_lost',
      message: 'Redis stopped answering while the command ran',
      next: 'see "turnkeeper doctor", then run it again',
      retryable: true,
      exitCode: EXIT.tryAgain,
    };
  }
  const message = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return {
    code: 'internal',
    message: message.split('\n', 1)[0] ?? '',
    next: 'this is a defect of turnkeeper; please report it with this line',
    retryable: false,
    exitCode: EXIT.failed,
  };
}

/** What the caller or the configuration has to change. */
const BAD_INPUT = ['agent_config', 'settings', 'invalid_input', 'incomplete_tool', 'lane_count'];

const LOST =
  /Connection is closed|Command timed out|isn't writeable|ECONNRESET|max retries per request/i;

function lostRedis(error: unknown): boolean {
  return error instanceof Error && LOST.test(error.message);
}

/** Looks at the words themselves: the command line may be what could not be read. */
export function wantsJson(argv: readonly string[]): boolean {
  return argv.some((word, index) => {
    if (word === '--json' || /^(--output=|-o=?)jsonl?$/.test(word)) return true;
    return ['-o', '--output'].includes(word) && /^jsonl?$/.test(argv[index + 1] ?? '');
  });
}
