/** Controls, invisible spaces, direction overrides: nothing a customer writes on purpose, and good for hiding things. */
const UNSEEN =
  // oxlint-disable-next-line no-control-regex -- the characters are the point
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u180e\u200b\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;

/** Tag characters spell text nobody sees, save in the flags they are made for. */
const TAGS = /\u{1f3f4}[\u{e0020}-\u{e007e}]{1,8}\u{e007f}|[\u{e0000}-\u{e01ef}]/gu;

/** Joiners shape emoji, Arabic and Indic letters. Between letters that never join they only break words up. */
const JOINERS =
  /(?<=[\p{Script=Latin}\p{Script=Cyrillic}\p{Script=Greek}\d])[\u200c\u200d]+(?=[\p{Script=Latin}\p{Script=Cyrillic}\p{Script=Greek}\d])/gu;

/** Text as the model gets it: what a reader would see, whatever was sent. Letters, emoji and direction marks stay. */
export function clean(text: string): string {
  return text
    .toWellFormed()
    .replaceAll(/\r\n?|[\u2028\u2029]/g, '\n')
    .replaceAll(UNSEEN, '')
    .replaceAll(TAGS, (found) => (found.startsWith('\u{1f3f4}') ? found : ''))
    .replaceAll(JOINERS, '');
}

/** One line of somebody else's: a file name, a subject. */
export function cleanLine(text: string, length: number): string {
  const line = clean(text).replaceAll(/\s/g, ' ').trim();
  return line.length > length ? `${line.slice(0, length - 1)}…` : line;
}

/** No space at the ends of lines, no more than one empty line in a row. */
export function tidy(text: string): string {
  return text
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n')
    .replaceAll(/\n{3,}/g, '\n\n')
    .trim();
}

/** The beginning of a text that is too long, with a note that says so. */
export function capped(text: string, length: number): string {
  if (text.length <= length) return text;
  return `${text.slice(0, length)}\n[cut: ${length} of ${text.length} characters kept]`;
}
