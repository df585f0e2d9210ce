import type { Readable } from 'node:stream';
import { usageError } from './errors.ts';

/** A line that goes on for longer than this is none. Characters. */
const LONGEST_LINE = 16_000_000;
/** Not the separators of Unicode, which stand inside of texts: `node:readline` would break a line there. */
const LINE_END = /\r\n|\n|\r/;

/**
 * The lines of an input without their ends, holding what has arrived of one at a time: `node:readline` reads a thousand
 * ahead.
 *
 * @throws CommandError when a line does not end
 */
export async function* linesOf(input: Readable): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let number = 0;
  let rest = '';
  for await (const chunk of input as AsyncIterable<Buffer | string>) {
    const text =
      rest + (typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true }));
    // What ends in a carriage return may go on with the other half of a line end.
    const settled = text.endsWith('\r') ? text.slice(0, -1) : text;
    const lines = settled.split(LINE_END);
    rest = `${lines.pop() ?? ''}${text.slice(settled.length)}`;
    number += lines.length;
    yield* lines;
    if (rest.length > LONGEST_LINE) throw endless(number + 1);
  }
  const last = `${rest}${decoder.decode()}`;
  if (last !== '') yield last.replace(/\r$/, '');
}

function endless(line: number) {
  return usageError(
    `line ${line} is longer than ${LONGEST_LINE.toLocaleString('en-US')} characters: is this a file of messages? What stands above it is handed in`,
  );
}
