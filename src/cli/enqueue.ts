import { open } from 'node:fs/promises';
import { resolve } from 'node:path';
import { Option, type Command } from 'commander';
import type { TicketMessage } from '../contracts/index.ts';
import { conversationIdOf, messageIdOf } from '../store/index.ts';
import { withQueues } from './connection.ts';
import { CommandError, usageError, type ExitCode } from './errors.ts';
import { HandIn, type Accept } from './hand-in.ts';
import { perform, type Invocation } from './invocation.ts';
import { readRows } from './message-rows.ts';
import { ReadProgress, type Input } from './read-progress.ts';
import { rejectedBeside } from './rejected-rows.ts';

export function addEnqueue(program: Command): void {
  program
    .command('enqueue')
    .description(
      'Hands messages in: one JSON object a line, one object, or CSV. Doing it again changes nothing.',
    )
    .argument('<file>', 'the file, or - for stdin')
    .addOption(
      new Option(
        '--format <format>',
        'csv with a header, or jsonl; else by the name of the file',
      ).choices(['csv', 'jsonl']),
    )
    .option(
      '--rejected <file>',
      'where bad rows go, to be corrected and handed in; default: beside the file, as <name>.rejected.jsonl',
    )
    .option('--dry-run', 'reads and checks every row; hands nothing in and writes no file')
    .addHelpText(
      'after',
      '\nA row: {"source": "zendesk", "conversationId": "4482", "messageId": "m1", "text": "Where is my order?",\n' +
        '        "requester": {"id": "ana@example.com", "assurance": "verified"}}\n' +
        'Columns of a CSV: source,conversationId,messageId,text,requester.id,requester.assurance[,subject,channel,…]\n' +
        'Ends with 6 when some rows were bad; the others are handed in. -q prints the conversation of each message.',
    )
    .action((file: string, options: EnqueueOptions, command: Command) =>
      perform(command, (invocation) => enqueue(invocation, file, options)),
    );
}

type EnqueueOptions = { dryRun?: boolean; format?: 'csv' | 'jsonl'; rejected?: string };

async function enqueue(
  invocation: Invocation,
  file: string,
  { dryRun = false, format, rejected }: EnqueueOptions,
): Promise<ExitCode> {
  const { settings, out } = invocation;
  if (rejected !== undefined && resolve(rejected) === resolve(file)) {
    throw usageError(`${rejected} is the file that is read: name another one for the bad rows`);
  }
  const input = await openInput(file);
  const badRowsTo = rejected ?? (file === '-' ? undefined : rejectedBeside(file));
  // Whoever reads our lines may stop reading; the messages behind them are handed in all the same.
  out.outlivesItsReader();
  const isCsv = (format ?? (file.toLowerCase().endsWith('.csv') ? 'csv' : 'jsonl')) === 'csv';
  const rows = isCsv
    ? (await import('./csv-rows.ts')).readCsvRows(input.stream, (line) => out.note(line))
    : readRows(input.stream);
  const progress = new ReadProgress(input, out);
  if (dryRun) {
    const accept: Accept = (message) => Promise.resolve(named(message));
    return new HandIn(out, accept, { dryRun: true }).all(rows, progress);
  }
  return withQueues(settings, async ({ store, queues }) => {
    await store.open();
    const { acceptMessage } = await import('../producers/index.ts');
    const accept: Accept = (message) => acceptMessage(store, queues, message);
    return new HandIn(out, accept, { dryRun: false, badRowsTo }).all(rows, progress);
  });
}

function named({ source, conversationId, messageId }: TicketMessage): Awaited<ReturnType<Accept>> {
  return {
    kind: 'accepted',
    conversationId: conversationIdOf(source, conversationId),
    id: messageIdOf(source, conversationId, messageId),
  };
}

async function openInput(file: string): Promise<Input> {
  if (file === '-') return { stream: process.stdin };
  try {
    const handle = await open(file);
    const stat = await handle.stat();
    if (stat.isDirectory()) {
      await handle.close();
      throw usageError(`${file} is a directory: name a file of messages, or - for stdin`);
    }
    const stream = handle.createReadStream();
    return { stream, bytes: stat.size, bytesRead: () => stream.bytesRead };
  } catch (error) {
    if (error instanceof CommandError) throw error;
    const problem = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    throw usageError(
      `${file} cannot be read (${problem}): name a file of messages, or - for stdin`,
    );
  }
}
