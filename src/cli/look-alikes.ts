import { visible } from './visible-text.ts';

/** Alphabets whose letters are mistaken for each other's. Others may share a word with Latin letters for good reasons. */
const ALPHABETS = ['Latin', 'Cyrillic', 'Greek', 'Armenian', 'Cherokee', 'Coptic', 'Lisu'] as const;
const LETTERS = ALPHABETS.map((name) => new RegExp(`\\p{Script=${name}}`, 'u'));
const [LATIN] = LETTERS;

/** What stands in one piece: words and what holds them together. */
const PIECE = /[^\s"]+/gu;
const WORD = /[\p{L}\p{M}\p{N}]+/gu;
/** Latin letters and digits in another dress: full width, mathematical, digits of other scripts. */
const DRESSED = /[\uff10-\uff19\uff21-\uff3a\uff41-\uff5a\u{1d400}-\u{1d7ff}]/u;
const OTHER_DIGIT = /(?![0-9])\p{Nd}/u;
/** Letters of other alphabets that are drawn like a Latin one. */
const TWINS = /^[асеорхуіјѕԁԛԝһӏвкмнтАВЕКМНОРСТХУІЈЅԌΑΒΕΖΗΙΚΜΝΟΡΤΥΧοινυρασоеհոսցօՕՍ\p{M}\p{N}]+$/u;

/**
 * Text of somebody else for a person who decides by it: as `visible`, and every letter that pretends to be another one is
 * written as its number. That is a word in two alphabets, a word made of twins of Latin letters in one piece with Latin
 * ones, such as the first half of an address, and letters and digits in another dress.
 */
export function revealed(text: string): string {
  return visible(text.replaceAll(PIECE, (piece) => revealPiece(piece)));
}

/** The suspicious words in all texts of a value, as `revealed` writes them. */
export function lookAlikes(value: unknown): string[] {
  const pieces = textsIn(value).flatMap((text) =>
    [...text.matchAll(PIECE)].map(([piece]) => piece),
  );
  return [...new Set(pieces.filter((piece) => revealPiece(piece) !== piece).map(revealPiece))];
}

function revealPiece(piece: string): string {
  return piece.replaceAll(WORD, (word) => reveal(word, piece));
}

function reveal(word: string, piece: string): string {
  const found = LETTERS.filter((letter) => letter.test(word));
  const disguised = found.length === 1 && TWINS.test(word) && /[A-Za-z]/.test(piece);
  // The alphabet that may stay: Latin letters where there are some, else the first one.
  const home = disguised ? LATIN : (found.find((letter) => letter === LATIN) ?? found[0]);
  const digits = /[0-9]/.test(word);
  const odd = (character: string): boolean =>
    (home !== undefined && found.some((one) => one !== home && one.test(character))) ||
    DRESSED.test(character) ||
    (digits && OTHER_DIGIT.test(character));
  return word.replaceAll(/./gsu, (character) => (odd(character) ? numberOf(character) : character));
}

function numberOf(character: string): string {
  return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
}

function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) =>
    Array.isArray(value) ? textsIn(inner) : [name, ...textsIn(inner)],
  );
}
