import type { TicketMessage } from '../contracts/index.ts';
import { badRowText, messageOf, type BadRow } from './bad-row.ts';
import { CommandError, EXIT, type ExitCode } from './errors.ts';
import type { Row } from './message-rows.ts';
import type { Output } from './output.ts';
import type { ReadProgress } from './read-progress.ts';
import { RejectedRows } from './rejected-rows.ts';
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
  /** The file with all bad rows; null when there is none. */
  rejected: string | null;
  dryRun: boolean;
};

export type Accept = (
  message: TicketMessage,
) => Promise<{ kind: 'accepted' | 'known'; conversationId: string; id: string }>;

/** Messages on their way to Redis at a time. */
const AT_ONCE = 64;
const BAD_ROWS_KEPT = 100;

/** Hands rows in, many at a time, those of one conversation in their order. */
export class HandIn {
  readonly #out: Output;
  readonly #accept: Accept;
  readonly #counts: Enqueued;
  readonly #rejected: RejectedRows | undefined;
  /** At most one message of a conversation is on its way. */
  readonly #onTheWay = new Map<string, Promise<void>>();
  #problem: unknown;

  constructor(
    out: Output,
    accept: Accept,
    { dryRun, badRowsTo }: { dryRun: boolean; badRowsTo?: string | undefined },
  ) {
    this.#out = out;
    this.#accept = accept;
    this.#rejected = badRowsTo === undefined ? undefined : new RejectedRows(badRowsTo);
    const none = { accepted: 0, known: 0, bad: 0, badRows: [], rejected: null };
    this.#counts = { result: 'success', ...none, dryRun };
  }

  async all(rows: AsyncIterable<Row>, progress: ReadProgress): Promise<ExitCode> {
    try {
      for await (const row of rows) {
        if (this.#problem !== undefined) break;
        const message = messageOf(row);
        if ('fix' in message) await this.#bad(row, message);
        else await this.#send(message, row.line);
        await progress.look(this.#counts);
      }
    } finally {
      await Promise.all(this.#onTheWay.values());
      await this.#rejected?.end();
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

  async #bad(row: Row, bad: BadRow): Promise<void> {
    const out = this.#out;
    this.#counts.bad += 1;
    if (this.#counts.badRows.length < BAD_ROWS_KEPT) this.#counts.badRows.push(bad);
    out.note(visible(badRowText(bad)));
    out.progress({ result: 'bad', ...bad });
    await this.#rejected?.write(row, bad);
  }

  #report(): ExitCode {
    const out = this.#out;
    const counts = this.#counts;
    const { accepted, known, bad, dryRun } = counts;
    counts.rejected = this.#rejected?.path ?? null;
    counts.result = bad === 0 ? 'success' : accepted + known > 0 ? 'partial' : 'failed';
    if (out.format !== 'id') {
      const verb = dryRun ? 'could be accepted' : 'accepted';
      const where = counts.rejected === null ? '' : `, kept in ${visible(counts.rejected)}`;
      const text = `${count(accepted, 'message')} ${verb}, ${known} known already, ${count(bad, 'bad row')}${where}`;
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
