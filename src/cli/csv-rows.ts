import { Readable } from 'node:stream';
import { CsvError, parse, type InfoRecord } from 'csv-parse';
import { usageError, type CommandError } from './errors.ts';
import type { Row } from './message-rows.ts';
import { linesOf } from './text-lines.ts';

/** What the columns of a file of messages are called. */
const NEEDED = ['source', 'conversationId', 'messageId', 'text'];
const REQUESTER = ['requester.id', 'requester.assurance'];
const OTHER = ['subject', 'channel', 'language', 'deliveryId', 'quoted', 'signature', 'original'];
const COLUMNS = new Set([...NEEDED, ...REQUESTER, ...OTHER]);

/** A row that does not end within this many characters has lost a quote. */
const LARGEST_ROW = 1_000_000;

type Parsed = { record: Record<string, string>; info: InfoRecord; raw: string };

/**
 * Reads messages from CSV with a header, one row at a time; an empty cell is a field left out. `note` hears of columns
 * that are not part of a message. The line of a row is its first one.
 *
 * @throws CommandError when a column is missing, or a row does not end
 */
export async function* readCsvRows(
  input: Readable,
  note: (line: string) => void,
): AsyncGenerator<Row> {
  const broken: Row[] = [];
  const rows = parse({
    columns: (header: string[]) => columnsOf(header, note),
    ...{ bom: true, info: true, raw: true, skip_empty_lines: true, relax_column_count: true },
    ...{ max_record_size: LARGEST_ROW, skip_records_with_error: true },
    onSkip: (error, raw = '') => {
      if (error === undefined) return;
      const line = error['lines'] as number;
      if (error.code === 'CSV_MAX_RECORD_SIZE') rows.destroy(endless(line));
      else broken.push(brokenRow(error, line, raw));
    },
  });
  const lines = Readable.from(oneLineEnd(input));
  lines.on('error', (error) => rows.destroy(error));
  for await (const { record, info, raw } of lines.pipe(rows) as AsyncIterable<Parsed>) {
    yield* broken.splice(0);
    const line = info.lines - (raw.trim().match(/\n/g)?.length ?? 0);
    if (info.error === undefined) yield { line, value: messageOf(record) };
    else yield brokenRow(info.error, line, raw);
  }
  yield* broken;
}

/** The parser counts a line break of two characters inside quotes as two. */
async function* oneLineEnd(input: Readable): AsyncGenerator<string> {
  for await (const line of linesOf(input)) yield `${line}\n`;
}

function columnsOf(header: string[], note: (line: string) => void): string[] {
  const names = header.map((name) => name.trim());
  const missing = [...NEEDED, ...REQUESTER].filter((name) => !names.includes(name));
  if (missing.length > 0) {
    throw usageError(
      `line 1: the header has no column ${missing.join(', ')}: a file of messages needs ${[...NEEDED, ...REQUESTER].join(', ')}`,
    );
  }
  const others = names.filter((name) => !COLUMNS.has(name));
  if (others.length > 0) note(`left out, no part of a message: ${others.join(', ')}`);
  return names;
}

function messageOf(record: Record<string, string>): object {
  const cells = Object.entries(record).filter(
    ([name, cell]) => COLUMNS.has(name) && (cell !== '' || name === 'text'),
  );
  const {
    'requester.id': id,
    'requester.assurance': assurance,
    ...fields
  } = Object.fromEntries(cells);
  return { ...fields, requester: { id, assurance } };
}

/** What comes after it cannot be told from what is inside of it. */
function endless(line: number): CommandError {
  return usageError(
    `the row before line ${line} does not end: close the quote that is opened in it; what stands above it is handed in`,
  );
}

function brokenRow(error: CsvError, line: number, raw: string): Row {
  const fix = FIXES[error.code] ?? error.message;
  return { line, broken: 'no row of the CSV', fix, text: raw.trim() };
}

const FIXES: Readonly<Record<string, string>> = {
  CSV_RECORD_INCONSISTENT_COLUMNS: 'must have as many cells as the header',
  CSV_QUOTE_NOT_CLOSED:
    'a quote is opened and never closed: close it, or double it inside of a cell',
  INVALID_OPENING_QUOTE:
    'a quote inside of a cell must be doubled, and the cell be put into quotes',
  CSV_INVALID_CLOSING_QUOTE: 'a quote inside of a cell must be doubled',
};
