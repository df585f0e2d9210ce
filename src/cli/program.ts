import { Command, CommanderError } from 'commander';
import { addApi } from './api.ts';
import { addApprovals } from './approvals.ts';
import { addAudit } from './audit.ts';
import { addBlocked } from './blocked.ts';
import { addCancel } from './cancel.ts';
import { addDoctor } from './doctor.ts';
import { addEnqueue } from './enqueue.ts';
import { EXIT, usageError } from './errors.ts';
import { addKb } from './kb.ts';
import { addKeys } from './keys.ts';
import { addLedger } from './ledger.ts';
import { addMail } from './mail.ts';
import { addModels } from './models.ts';
import { addRelease } from './release.ts';
import { addReprocess } from './reprocess.ts';
import { reportProblem, wantsJson } from './report-problem.ts';
import { addSweep } from './sweep.ts';
import { addTakeover } from './takeover.ts';
import { addTraceExport } from './trace-export.ts';
import { addTrace } from './trace.ts';
import { addTurns } from './turns.ts';
import { addUp } from './up.ts';
import { version } from './version.ts';
import { addWatch } from './watch.ts';
import { addWhy } from './why.ts';
import { addWorker } from './worker.ts';

const EXAMPLES = `Examples:
  turnkeeper up                           Redis, if there is none, and a worker
  turnkeeper enqueue tickets.jsonl        hand messages in
  turnkeeper turns list --open            what is going on
  turnkeeper why zendesk/4482             why the newest turn of a conversation stopped
  turnkeeper approvals approve <id> --by ana
  turnkeeper takeover zendesk/4482 --by ana --reason "angry customer"
`;

const EXIT_CODES = `
Exit codes: 0 done, 1 failed, 2 wrong usage or configuration, 3 not found, 5 somebody else was first or it expired,
6 done with findings, 75 try again, 130 Ctrl-C.
More: README.md and docs/ of the package.`;

/** Runs one command. Never throws: what went wrong is on stderr and in the exit code. */
export async function runCommandLine(argv: readonly string[]): Promise<void> {
  endWhenNobodyReads();
  try {
    await buildProgram(argv).parseAsync([...argv]);
  } catch (error) {
    // Help and version were asked for.
    if (error instanceof CommanderError && error.exitCode === 0) return;
    process.exitCode = reportProblem(error, argv);
  }
}

/** A closed pipe (`| head`) has got what it wanted. */
function endWhenNobodyReads(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    process.exit(error.code === 'EPIPE' ? EXIT.ok : EXIT.failed);
  });
  process.stderr.on('error', () => {});
}

/** The command line: one file per command, options of all of them here. */
function buildProgram(argv: readonly string[]): Command {
  const program = new Command('turnkeeper')
    .description('Runs support agents in the background and proves what they did.')
    .version(version(), '-v, --version')
    .option('--config <file>', 'the agent; default turnkeeper.config.ts of this directory')
    .option('-o, --output <format>', 'table, json, jsonl, csv or id', 'table')
    .option('--json', 'same as -o json')
    .option('-q, --quiet', 'ids only')
    .option('--no-color', 'no colours, as with NO_COLOR')
    .addHelpText('before', EXAMPLES)
    .addHelpText('after', EXIT_CODES)
    .configureHelp({ showGlobalOptions: true });
  for (const add of [
    addUp,
    addWorker,
    addApi,
    addEnqueue,
    addMail,
    addSweep,
    addTurns,
    addWatch,
    addTrace,
    addTraceExport,
    addWhy,
    addLedger,
    addBlocked,
    addApprovals,
    addCancel,
    addTakeover,
    addRelease,
    addReprocess,
    addModels,
    addKb,
    addKeys,
    addAudit,
    addDoctor,
  ]) {
    add(program);
  }
  answerInOurWay(program, wantsJson(argv));
  return program;
}

/** Help goes where it was asked for; a wrong command line is reported by us, in the format the caller wants. */
function answerInOurWay(command: Command, silent: boolean): void {
  command.configureOutput({ outputError: () => {}, ...(silent ? { writeErr: () => {} } : {}) });
  command.exitOverride((error) => {
    if (error.exitCode === 0) throw error;
    // A command without what it needs shows its short help; that is wrong usage, not an answer.
    const bare = error.code === 'commander.help';
    const message = bare
      ? 'a command is missing'
      : error.message.replace(/^error: /, '').split('\n', 1)[0];
    throw usageError(
      message ?? '',
      `usage: ${fullName(command)} ${command.usage()}; more with --help`,
    );
  });
  command.commands.forEach((one) => answerInOurWay(one, silent));
}

function fullName(command: Command): string {
  return command.parent === null ? command.name() : `${fullName(command.parent)} ${command.name()}`;
}
