import { InvalidArgumentError, type Command } from 'commander';
import { loadAgent } from '../config/index.ts';
import { TurnkeeperError } from '../contracts/index.ts';
import type { Swept } from '../producers/sweep.ts';
import type { Source } from '../producers/ingress/index.ts';
import { withQueues } from './connection.ts';
import { CommandError, EXIT, notFound, usageError, type ExitCode } from './errors.ts';
import { perform, type Invocation } from './invocation.ts';
import { count, day, iso } from './wording.ts';

type SweepSettings = { source?: string; since?: number };

/** The JSON of a row of `sweep`. Times in ISO 8601; `problem`: why a source could not be looked through. */
export type SweptRow = Omit<Swept, 'since' | 'bad'> & {
  since: string | null;
  bad: string[];
  problem: string | null;
};

export function addSweep(program: Command): void {
  program
    .command('sweep')
    .description(
      'Looks in the ticketing systems for messages that never arrived, and takes them in. Doing it again changes nothing.',
    )
    .option('--source <name>', 'only this one; default: all that have an api')
    .option(
      '--since <time>',
      'from when on: 90m, 6h, 2d, or a date such as 2026-03-04T10:00Z; default: where the last look began',
      sinceTime,
    )
    .addHelpText(
      'after',
      '\nThe service ("turnkeeper api") does the same every few minutes. Messages older than the ids we remember are left alone.',
    )
    .action((options: SweepSettings, command: Command) =>
      perform(command, (invocation) => sweep(invocation, options)),
    );
}

const UNITS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

/** @throws InvalidArgumentError */
function sinceTime(text: string): number {
  const [, number, unit = ''] = /^(\d{1,6})([mhd])$/.exec(text) ?? [];
  const at =
    number === undefined ? Date.parse(text) : Date.now() - Number(number) * (UNITS[unit] ?? 0);
  if (Number.isNaN(at)) {
    throw new InvalidArgumentError('It must be like 90m, 6h, 2d or 2026-03-04T10:00Z.');
  }
  if (at > Date.now()) throw new InvalidArgumentError('It lies ahead.');
  return at;
}

async function sweep(
  { settings, out, configFile }: Invocation,
  { source, since }: SweepSettings,
): Promise<ExitCode> {
  const { agent } = await loadAgent(configFile === undefined ? {} : { file: configFile });
  return withQueues(settings, async (connected) => {
    const { store, queues, records } = connected;
    const { Operator } = await import('../producers/operator.ts');
    const operator = new Operator(connected);
    const { Sweep } = await import('../producers/sweep.ts');
    const wanted = chosen(agent.sources, Sweep.able(agent.sources), source);
    const looking = new Sweep({
      ...{ store, queues, operator },
      posted: (conversationId) => records.posted(conversationId),
    });
    const rows: SweptRow[] = [];
    for (const one of wanted) {
      const row = await lookAt(looking, one, since);
      out.progress(row);
      rows.push(row);
    }
    if (out.format !== 'jsonl') show(out, rows);
    if (rows.some(({ problem }) => problem !== null)) {
      const [{ problem } = { problem: '' }] = rows.filter((row) => row.problem !== null);
      throw new CommandError({
        code: 'not_looked_through',
        message: problem ?? '',
        next: 'run the same command again: what was taken in is known and will not be done twice',
        exitCode: EXIT.tryAgain,
        retryable: true,
      });
    }
    return rows.some(({ bad }) => bad.length > 0) ? EXIT.findings : EXIT.ok;
  });
}

/** @throws CommandError */
function chosen(
  all: readonly Source[],
  able: readonly Source[],
  name: string | undefined,
): readonly Source[] {
  if (name !== undefined) {
    const source = all.find((one) => one.name === name);
    if (source === undefined) throw notFound('source', name, 'see `sources` of the configuration');
    return [source];
  }
  if (able.length > 0) return able;
  throw usageError('no source can be looked through', 'give a source an `api: httpApi({…})`');
}

async function lookAt(
  looking: { run(source: Source, options: { since?: number }): Promise<Swept> },
  source: Source,
  since: number | undefined,
): Promise<SweptRow> {
  try {
    const swept = await looking.run(source, since === undefined ? {} : { since });
    return { ...swept, since: iso(swept.since), problem: null };
  } catch (error) {
    if (!(error instanceof TurnkeeperError) || error.code === 'invalid_input') throw error;
    const nothing = { conversations: 0, found: 0, takeovers: 0, known: 0, bad: [] };
    return { source: source.name, since: null, ...nothing, problem: error.message };
  }
}

function show(out: Invocation['out'], rows: readonly SweptRow[]): void {
  out.list(rows, {
    id: ({ source }) => source,
    empty: 'nothing to look through',
    columns: [
      { title: 'source', cell: ({ source }) => source },
      { title: 'since', cell: ({ since }) => (since === null ? null : day(Date.parse(since))) },
      { title: 'looked at', cell: ({ conversations }) => count(conversations, 'conversation') },
      { title: 'found', cell: ({ found }) => found },
      { title: 'of the staff', cell: ({ takeovers }) => takeovers },
      { title: 'known', cell: ({ known }) => known },
      { title: 'bad', cell: ({ bad }) => bad.length },
    ],
  });
}
