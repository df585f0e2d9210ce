/** Words that say nothing about what a text is about. */
const EMPTY_WORDS = new Set(
  (
    'a about after again all also am an and any anyone are aren as at be been before being but by can could did didn do ' +
    'does doesn doing don for from get gets getting go goes going got had has hasn have haven having he hello her hers hey ' +
    'hi him his how however i if im in into is isn it its ive just let like ll may maybe me might mine must my myself no ' +
    'nor not of off oh ok on only onto or our ours out over own please pls re really s shall she should shouldn so some ' +
    'somebody someone something still such t than thank thanks that the their them then there these they thing this those ' +
    'to too u up us ve very via want wants was wasn we were weren what whats when where whether which while who whom whose ' +
    'why will with won would wouldn yet you your yours'
  ).split(' '),
);

const WORD = /[\p{L}\p{N}]+/gu;

/** The words of a text in lower case, accents kept. Words joined by a hyphen are one: `pre-order` is `preorder`. */
export function wordsOf(text: string): string[] {
  const plain = text.normalize('NFKC').toLowerCase();
  return plain.replaceAll(/(?<=\p{L})-(?=\p{L})/gu, '').match(WORD) ?? [];
}

/** The words that carry meaning. */
export function contentWords(text: string): string[] {
  return wordsOf(text).filter((word) => !EMPTY_WORDS.has(word));
}

/** Suffix, what takes its place, and the least length of what is left. The first that fits is used. */
const SUFFIXES = [
  ['ations', '', 4],
  ['ation', '', 4],
  ['ings', '', 4],
  ['ing', '', 4],
  ['ies', 'y', 3],
  ['ied', 'y', 3],
  ['sses', 'ss', 2],
  ['xes', 'x', 2],
  ['ed', '', 3],
  ['ly', '', 4],
  ['s', '', 3],
] as const;

/** The word without its English ending, so that `refunded` and `refunds` meet. Crude on purpose: both sides get the same. */
export function stem(word: string): string {
  const rule = SUFFIXES.find(
    ([suffix, , least]) =>
      word.endsWith(suffix) && word.length - suffix.length >= least && !word.endsWith('ss'),
  );
  const cut = rule === undefined ? word : word.slice(0, word.length - rule[0].length) + rule[1];
  // `cancelled` and `canceled`, `stopping` and `stop`, `change` and `changing` end alike.
  const short = cut.length > 3 ? cut.replace(/e$/, '') : cut;
  return short.replace(/([bdglmnprt])\1$/, '$1');
}
