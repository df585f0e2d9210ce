import { open } from 'node:fs/promises';
import { Option, type Command } from 'commander';
import type { TicketMessage } from '../contracts/index.ts';
import { conversationIdOf, messageIdOf } from '../store/index.ts';
import { badRowText, messageOf, type BadRow } from './bad-row.ts';
import { withQueues } from './connection.ts';
import { CommandError, EXIT, usageError, type ExitCode } from './errors.ts';
import { perform, type Invocation } from './invocation.ts';
import { readRows, type Row } from './message-rows.ts';
import type { Output } from './output.ts';
import { ReadProgress, type Input } from './read-progress.ts';
import { visible } from './visible-text.ts';
import { count } from './wording.ts';

/** The JSON of `enqueue`. */
export type Enqueued = {
  result: 'success' | 'partial' | 'failed';
  accepted: number;
  /** Handed in before; nothing happens twice. */
  known: number;
  bad: number;
  /** The first bad rows. */
  badRows: BadRow[];
  dryRun: boolean;
};

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
    .option('--dry-run', 'reads and checks every row, and hands nothing in')
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

type EnqueueOptions = { dryRun?: boolean; format?: 'csv' | 'jsonl' };

type Accept = (
  message: TicketMessage,
) => Promise<{ kind: 'accepted' | 'known'; conversationId: string; id: string }>;

async function enqueue(
  invocation: Invocation,
  file: string,
  { dryRun = false, format }: EnqueueOptions,
): Promise<ExitCode> {
  const { settings, out } = invocation;
  const input = await openInput(file);
  // Whoever reads our lines may stop reading; the messages behind them are handed in all the same.
  out.outlivesItsReader();
  const isCsv = (format ?? (file.toLowerCase().endsWith('.csv') ? 'csv' : 'jsonl')) === 'csv';
  const rows = isCsv
    ? (await import('./csv-rows.ts')).readCsvRows(input.stream, (line) => out.note(line))
    : readRows(input.stream);
  const progress = new ReadProgress(input, out);
  if (dryRun) {
    return new HandIn(out, (message) => Promise.resolve(named(message)), true).all(rows, progress);
  }
  return withQueues(settings, async ({ store, queues }) => {
    await store.open();
    const { acceptMessage } = await import('../producers/index.ts');
    return new HandIn(out, (message) => acceptMessage(store, queues, message), false).all(
      rows,
      progress,
    );
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

/** Messages on their way to Redis at a time. */
const AT_ONCE = 64;
const BAD_ROWS_KEPT = 100;

/** Hands rows in, many at a time, those of one conversation in their order. */
class HandIn {
  readonly #out: Output;
  readonly #accept: Accept;
  readonly #counts: Enqueued;
  /** At most one message of a conversation is on its way. */
  readonly #onTheWay = new Map<string, Promise<void>>();
  #problem: unknown;

  constructor(out: Output, accept: Accept, dryRun: boolean) {
    this.#out = out;
    this.#accept = accept;
    this.#counts = { result: 'success', accepted: 0, known: 0, bad: 0, badRows: [], dryRun };
  }

  async all(rows: AsyncIterable<Row>, progress: ReadProgress): Promise<ExitCode> {
    try {
      for await (const row of rows) {
        if (this.#problem !== undefined) break;
        const message = messageOf(row);
        if ('fix' in message) this.#bad(message);
        else await this.#send(message, row.line);
        await progress.look(this.#counts);
      }
    } finally {
      await Promise.all(this.#onTheWay.values());
      await progress.end(this.#counts);
    }
    if (this.#problem !== undefined) throw this.#interrupted();
    return this.#report();
  }

  async #send(message: TicketMessage, line: number): Promise<void> {
    const thread = JSON.stringify([message.source, message.conversationId]);
    // The order of the rows is the order of acceptance.
    await this.#onTheWay.get(thread);
    while (this.#onTheWay.size >= AT_ONCE) await Promise.race(this.#onTheWay.values());
    const sent = this.#handIn(message, line).finally(() => this.#onTheWay.delete(thread));
    this.#onTheWay.set(thread, sent);
  }

  async #handIn(message: TicketMessage, line: number): Promise<void> {
    if (this.#problem !== undefined) return;
    const out = this.#out;
    try {
      const { kind, conversationId, id } = await this.#accept(message);
      this.#counts[kind] += 1;
      if (out.format === 'id') out.write(visible(conversationId));
      out.progress({ line, result: kind, conversationId, messageId: message.messageId, id });
    } catch (error) {
      this.#problem ??= error;
    }
  }

  #bad(row: BadRow): void {
    const out = this.#out;
    this.#counts.bad += 1;
    if (this.#counts.badRows.length < BAD_ROWS_KEPT) this.#counts.badRows.push(row);
    out.note(visible(badRowText(row)));
    out.progress({ result: 'bad', ...row });
  }

  #report(): ExitCode {
    const out = this.#out;
    const counts = this.#counts;
    const { accepted, known, bad, dryRun } = counts;
    counts.result = bad === 0 ? 'success' : accepted + known > 0 ? 'partial' : 'failed';
    if (out.format !== 'id') {
      const verb = dryRun ? 'could be accepted' : 'accepted';
      const text = `${count(accepted, 'message')} ${verb}, ${known} known already, ${count(bad, 'bad row')}`;
      out.card(counts, { id: () => '', text: () => text });
    }
    return bad === 0 ? EXIT.ok : EXIT.findings;
  }

  #interrupted(): CommandError {
    const { accepted, known } = this.#counts;
    const problem = this.#problem instanceof Error ? this.#problem.message : String(this.#problem);
    return new CommandError(
      {
        code: 'interrupted',
        message: `Redis stopped taking messages after ${count(accepted + known, 'message')}: ${problem}`,
        next: 'run the same command again: what was accepted is known and will not be done twice',
        exitCode: EXIT.tryAgain,
        retryable: true,
      },
      { cause: this.#problem },
    );
  }
}
