import { readTickets, readWorld } from '../../examples/technova/agent/fixtures.ts';
import { askedToStop } from '../../src/cli/asked-to-stop.ts';
import { CommandError, EXIT, usageError, type ExitCode } from '../../src/cli/errors.ts';
import { Output } from '../../src/cli/output.ts';
import { reportProblem } from '../../src/cli/report-problem.ts';
import { version } from '../../src/cli/version.ts';
import { visibleJson } from '../../src/cli/visible-text.ts';
import { wantsPlainText } from '../../src/config/index.ts';
import { Household } from './household.ts';
import { HELP, readOptions, type DemoOptions } from './options.ts';
import { performDemo, type DemoResult } from './performance.ts';
import { onTerminal, plainLines, unseen, type Progress } from './progress.ts';
import { reportNext } from './report.ts';
import { scenarioOf } from './scenario.ts';

/** The demo gives up after this long: every part has its own, shorter patience. Milliseconds. */
const LONGEST_MS = 60_000;

const MODEL_WORDS: Readonly<Record<DemoOptions['model'], string>> = {
  scripted: 'a scripted model',
  local: 'a model server that speaks the OpenAI API',
};

/** Runs the demo. Never throws: what went wrong is on stderr and in the exit code. */
export async function runDemo(args: readonly string[]): Promise<void> {
  try {
    const options = readOptions(args);
    if (options.help) process.stdout.write(HELP);
    else process.exitCode = await demo(options);
  } catch (error) {
    process.exitCode = reportProblem(error, args);
  }
  // What was cut short may still be waiting for something.
  process.exit();
}

async function demo(options: DemoOptions): Promise<ExitCode> {
  const startedAt = Date.now();
  const { tickets: file, model, killWorker, keep, json } = options;
  const cast = { ...readFixtures(file), model, killWorker, keep, startedAt };
  const isTerminal = process.stdout.isTTY;
  const out = new Output({
    format: json ? 'json' : 'table',
    colour: isTerminal && !wantsPlainText(),
  });
  out.outlivesItsReader();
  const say = (line: string): void => {
    if (out.isText) out.write(line);
  };
  const asked = askedToStop();
  const cut = cutShort(asked);
  const progress = json ? unseen : isTerminal ? onTerminal : plainLines(say);
  const house = new Household();
  let result: DemoResult | undefined;
  try {
    say(
      out.strong(
        `turnkeeper ${version()} · demo: ${MODEL_WORDS[model]}, nothing leaves this machine`,
      ),
    );
    result = await Promise.race([performDemo(house, out, interruptible(progress, cut), cast), cut]);
    if (json) out.write(visibleJson(result, 2));
    else reportNext(out);
    if (keep) {
      say('\nEverything is still up. Ctrl-C ends it.');
      await asked;
    }
    return result.ok ? EXIT.ok : EXIT.failed;
  } finally {
    await house.end(result?.ok === false);
  }
}

/** @throws CommandError naming file, line and field of what cannot be used */
function readFixtures(file: string | undefined) {
  try {
    const tickets = readTickets(file);
    return { tickets, world: readWorld(), scenario: scenarioOf(tickets) };
  } catch (error) {
    if (error instanceof CommandError) throw error;
    if (error instanceof Error && 'path' in error && 'code' in error) {
      throw usageError(
        `${String(error.path)} cannot be read (${String(error.code)}): name a file with one ticket a line`,
      );
    }
    throw usageError(error instanceof Error ? error.message.replaceAll('\n', ' ') : String(error));
  }
}

/** Rejects when the demo must not go on: somebody wants it to end before its end, or it takes too long. */
function cutShort(asked: Promise<unknown>): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>();
  // The demo may be over by then.
  promise.catch(() => {});
  const interrupted = new CommandError({
    code: 'interrupted',
    message: 'the demo was stopped; everything it had started has ended',
    exitCode: EXIT.interrupted,
  });
  void asked.then(() => reject(interrupted));
  const overdue = new CommandError({
    code: 'overdue',
    message: `the demo did not come to its end within ${LONGEST_MS / 1_000} s`,
    next: 'run it again when the machine has less to do',
    exitCode: EXIT.failed,
  });
  setTimeout(() => reject(overdue), LONGEST_MS).unref();
  return promise;
}

/** Ends each step, and what is shown of it, as soon as the demo is cut short. */
function interruptible(progress: Progress, cut: Promise<never>): Progress {
  return (steps) =>
    progress(steps.map((one) => ({ ...one, work: (say) => Promise.race([one.work(say), cut]) })));
}
