/**
 * Characters that would act on a terminal or hide what stands there: controls, direction marks, invisible spaces, tags
 * and halves of a pair.
 */
const UNSEEN =
  /[\p{Cc}\p{Cs}\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e01ef}]/gu;

const NAMED: Readonly<Record<string, string>> = {
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\u001b': '\\e',
};

/** Text of somebody else as it may go to a terminal: one line, and nothing in it acts or hides. */
export function visible(text: string): string {
  return text.replaceAll(UNSEEN, (character) => NAMED[character] ?? escaped(character));
}

function escaped(character: string): string {
  return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
}

/** JSON that may go to a terminal: the same values, with every unseen character written as an escape. */
export function visibleJson(value: unknown, indent?: number): string {
  const json = JSON.stringify(value, null, indent) ?? 'null';
  // A line break outside a string is layout; inside one JSON.stringify has escaped it already.
  return json.replaceAll(UNSEEN, (character) =>
    character === '\n' ? character : unicodeEscape(character),
  );
}

function unicodeEscape(character: string): string {
  return character
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('');
}

/** Starts of a cell that a spreadsheet would run as a formula. */
const FORMULA = /^\s*[=+\-@\uff0b\uff0d\uff1d\uff20]/;

/** One cell of a CSV file. A text that a spreadsheet would run gets an apostrophe in front; numbers stay numbers. */
export function csvCell(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  const text = visible(typeof value === 'string' ? value : JSON.stringify(value));
  const harmless = FORMULA.test(text) ? `'${text}` : text;
  return /[",\n\r]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}

/** The beginning of a text, if the whole does not fit. */
export function shorten(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length - 1)}…` : text;
}
