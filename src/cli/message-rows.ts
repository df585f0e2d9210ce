import type { Readable } from 'node:stream';
import { linesOf } from './text-lines.ts';

/** One row of the input: the line it begins on, and what it holds or why nobody can tell. */
export type Row =
  | { line: number; value: unknown }
  | {
      line: number;
      /** What stands there instead of a row. */ broken: string;
      fix: string;
      text: string;
    };

/** An object over several lines is read whole up to this size. Characters. */
const LARGEST_OBJECT = 1_000_000;

/**
 * Reads JSON lines as they arrive, or one JSON object that spreads over several lines. Holds one row at a time, and
 * no more than the beginning of an input that is neither.
 */
export async function* readRows(input: Readable): AsyncGenerator<Row> {
  let number = 0;
  let held: { line: number; text: string }[] | undefined = [];
  let heldLength = 0;
  for await (const text of linesOf(input)) {
    number += 1;
    const line = { line: number, text: number === 1 ? text.replace(/^\ufeff/, '') : text };
    if (line.text.trim() === '') continue;
    if (held === undefined) {
      yield rowOf(line);
      continue;
    }
    // A whole object on its line settles it: these are JSON lines, whatever came before.
    const complete = 'value' in rowOf(line) && line.text.trim().startsWith('{');
    held.push(line);
    heldLength += line.text.length;
    if (!complete && heldLength <= LARGEST_OBJECT) continue;
    yield* held.map(rowOf);
    held = undefined;
  }
  if (held === undefined || held.length === 0) return;
  const [first] = held;
  const whole = rowOf({ line: first?.line ?? 1, text: held.map(({ text }) => text).join('\n') });
  if ('value' in whole) yield whole;
  else yield* held.map(rowOf);
}

function rowOf({ line, text }: { line: number; text: string }): Row {
  try {
    return { line, value: JSON.parse(text) as unknown };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return { line, broken: 'not JSON', fix: `${why}; write one JSON object on one line`, text };
  }
}
