import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import type { Records } from '../store/records.ts';
import { redactPatterns } from '../telemetry/redaction-patterns.ts';
import { withRecords } from './connection.ts';
import { EXIT, usageError, type ExitCode } from './errors.ts';
import { perform, type Invocation } from './invocation.ts';
import { linesOf, readBack } from './trace-file.ts';
import { readStory } from './turn-story.ts';
import { visible, visibleJson } from './visible-text.ts';
import { count } from './wording.ts';

/** Adds `trace export` and `trace check` below `trace`. */
export function addTraceExport(program: Command): void {
  const trace = program.commands.find((command) => command.name() === 'trace');
  if (trace === undefined) throw new RangeError('the command trace comes first');
  trace
    .command('export')
    .description('A turn with everything stored about it, one JSON line a record, in time order.')
    .argument('<turnId>', 'see "turnkeeper turns list"')
    .option('--raw', 'mail addresses, card and telephone numbers and keys as they are')
    .action((turnId: string, options: { raw?: boolean }, command: Command) =>
      perform(command, (invocation) => exportTurn(invocation, turnId, options.raw ?? false)),
    );
  trace
    .command('check')
    .description('Walks an exported turn line by line and names every link that is missing.')
    .argument('<file>', 'written by "turnkeeper trace export"; - reads standard input')
    .addHelpText('after', '\nEnds with 6 when a link is missing that no lost worker explains.')
    .action((file: string, _options: unknown, command: Command) =>
      perform(command, (invocation) => check(invocation, file)),
    );
}

async function exportTurn(
  { settings, out }: Invocation,
  turnId: string,
  raw: boolean,
): Promise<void> {
  const story = await withRecords(settings, ({ records }) => readStory(records, turnId));
  for (const line of linesOf(story)) {
    out.write(visibleJson(raw ? line : redacted(line)));
  }
}

/** The same value with every text in it redacted; names of fields stay. */
function redacted(value: unknown): unknown {
  if (typeof value === 'string') return redactPatterns(value);
  if (Array.isArray(value)) return value.map(redacted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, redacted(one)]));
}

async function check({ out }: Invocation, file: string): Promise<ExitCode> {
  const { turnId, records, gaps } = readBack(contentOf(file));
  // The story is read from the file by the same functions that read it from Redis.
  const story = await readStory(records as Records, turnId);
  const links = [...gaps.map((gap) => ({ ...gap, explained: false })), ...story.missing].toSorted(
    (a, b) => a.after - b.after,
  );
  const broken = links.filter(({ explained }) => !explained);
  out.card(
    { turnId, complete: broken.length === 0, missing: links },
    {
      id: (one) => one.turnId,
      text: (one) =>
        [
          ...one.missing.map(({ after, text, explained }) =>
            visible(`after event ${after}: ${text}${explained ? ' (its worker was lost)' : ''}`),
          ),
          one.complete
            ? `turn ${visible(turnId)}: every link is there`
            : `turn ${visible(turnId)}: ${count(broken.length, 'link')} missing`,
        ].join('\n'),
    },
  );
  return broken.length === 0 ? EXIT.ok : EXIT.findings;
}

/** @throws CommandError when there is no such file */
function contentOf(file: string): string {
  try {
    return readFileSync(file === '-' ? 0 : file, 'utf8');
  } catch (error) {
    const problem = (error as NodeJS.ErrnoException).code ?? String(error);
    throw usageError(
      `${file} cannot be read (${problem}): name a file written by "turnkeeper trace export", or - for stdin`,
    );
  }
}
