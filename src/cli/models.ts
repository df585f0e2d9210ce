import type { Command } from 'commander';
import { loadAgent } from '../config/index.ts';
import { providersOf, testModel, type ModelFinding } from '../models/index.ts';
import { CommandError, EXIT, type ExitCode } from './errors.ts';
import { perform, type Invocation } from './invocation.ts';

export function addModels(program: Command): void {
  const models = program.command('models').description('The models of the agent.');
  models
    .command('test')
    .description(
      'Sends one tiny request with one tool and shows what each endpoint can do and costs.',
    )
    .addHelpText(
      'after',
      '\nEnds with 0 when all is well, 6 when something deserves a look, 1 when a model does not answer.',
    )
    .action((_options: unknown, command: Command) => perform(command, test));
}

type Row = { name: string } & ModelFinding;

async function test({ out, configFile }: Invocation): Promise<ExitCode> {
  const { agent } = await loadAgent(configFile === undefined ? {} : { file: configFile });
  const providers = providersOf(agent.model);
  if (providers.length === 0) {
    throw new CommandError({
      code: 'no_endpoint',
      message: 'the model of this agent is no endpoint; there is nothing to send a request to',
      next: 'set model to openaiModel({…}) or anthropicModel({…}) in the configuration',
      exitCode: EXIT.usage,
    });
  }
  const rows: Row[] = [];
  for (const provider of providers) {
    const name = `${provider.modelName} at ${new URL(provider.endpoint).host}`;
    rows.push(...(await testModel(provider)).map((finding) => ({ name, ...finding })));
  }
  out.list(rows, {
    id: ({ name }) => name,
    columns: [
      ...(providers.length > 1 ? [{ title: 'NAME', cell: ({ name }: Row) => name }] : []),
      { title: 'CHECK', cell: ({ check }) => check },
      { title: 'STATUS', cell: ({ status }) => status },
      { title: 'FOUND', cell: ({ value }) => value },
      { title: 'FIX', cell: ({ fix }) => fix },
    ],
    empty: '',
  });
  if (rows.some(({ status }) => status === 'fail')) return EXIT.failed;
  return rows.some(({ status }) => status === 'warn') ? EXIT.findings : EXIT.ok;
}
