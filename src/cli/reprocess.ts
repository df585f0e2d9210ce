import type { Command } from 'commander';
import { actOptions, type ActOptions } from './act.ts';
import { EXIT, type ExitCode } from './errors.ts';
import { perform, type Invocation } from './invocation.ts';
import { act, readRate, readShare, run, type BatchAct, type RunOptions } from './reprocess-acts.ts';
import { batchOf, withReprocess } from './reprocess-connection.ts';
import { filterOptions, plan, show, type FilterOptions } from './reprocess-plan.ts';
import { report } from './reprocess-report.ts';
import { PROGRESS, progressOf, watchBatch } from './reprocess-watch.ts';

const EXAMPLES = `
Examples:
  turnkeeper reprocess plan --stop-reason model_unavailable --ended-after 2026-11-30T14:00Z
  turnkeeper reprocess run b41… --by ana --name "outage of 30 Nov" --reason "the shop is back" --stop-if 20%
  turnkeeper reprocess report b41… -o csv > report.csv

A plan starts nothing. What is done is not done again: a case keeps its intent and its operations. First 5 cases run, then a
tenth, then the rest; any effect that happened again stops the batch. Live messages always come first.
A batch needs no command that watches it; the workers go on by themselves.`;

export function addReprocess(program: Command): void {
  const reprocess = program
    .command('reprocess')
    .description(
      'Answers ended turns again, many at a time: a plan first, then what is done with it.',
    )
    .addHelpText('after', EXAMPLES);
  filterOptions(
    reprocess
      .command('plan')
      .description('Selects turns and says what would happen to each. Starts nothing.'),
  ).action((options: FilterOptions, command: Command) =>
    perform(command, (invocation) => plan(invocation, options)),
  );
  reprocess
    .command('show')
    .description('A plan again, as it was frozen.')
    .argument('<id>')
    .action((id: string, _options: unknown, command: Command) =>
      perform(command, (invocation) => show(invocation, id)),
    );
  actOptions(
    reprocess
      .command('run')
      .description(
        'Starts a plan and shows how it gets on. Ends with 6 when something is left to look at.',
      )
      .argument('<id>')
      .requiredOption(
        '--name <text>',
        'what this is about, such as the incident; kept in the record',
      )
      .option('--rate <n>', 'cases started a second; default 5', readRate)
      .option(
        '--stop-if <share>',
        'stops itself when more than this did not complete, such as 20%',
        readShare,
      )
      .option('--yes', 'starts without asking')
      .option('--no-watch', 'starts it and does not look on'),
  ).action((id: string, options: RunOptions, command: Command) =>
    perform(command, (invocation) => run(invocation, id, options)),
  );
  for (const [name, description] of Object.entries(DESCRIPTIONS)) {
    actOptions(reprocess.command(name).description(description).argument('<id>')).action(
      (id: string, options: ActOptions, command: Command) =>
        perform(command, (invocation) => act(invocation, id, name as BatchAct, options)),
    );
  }
  reprocess
    .command('status')
    .description('How far a batch is.')
    .argument('<id>')
    .option('--watch', 'until it runs no more')
    .action((id: string, options: { watch?: boolean }, command: Command) =>
      perform(command, (invocation) => status(invocation, id, options.watch === true)),
    );
  reprocess
    .command('report')
    .description(
      'What became of every case, its effects and its cost; csv, json and jsonl name each one.',
    )
    .argument('<id>')
    .action((id: string, _options: unknown, command: Command) =>
      perform(command, (invocation) => report(invocation, id)),
    );
}

const DESCRIPTIONS: Readonly<Record<BatchAct, string>> = {
  pause: 'Starts nothing more until it is resumed; what is under way finishes.',
  resume: 'Goes on with a batch that is paused or stopped itself.',
  abort: 'Starts nothing more, ever; what is under way finishes.',
};

/** @throws CommandError no such batch (3) */
async function status(invocation: Invocation, id: string, watch: boolean): Promise<ExitCode> {
  return withReprocess(invocation.settings, async ({ reprocess }) => {
    if (watch) return watchBatch(invocation, reprocess, id);
    invocation.out.card(progressOf(await batchOf(reprocess, id)), PROGRESS);
    return EXIT.ok;
  });
}
