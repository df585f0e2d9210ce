import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { sectionsOf, type Section, type TextKind } from './outline.ts';

/** A part of a document. Offsets are UTF-16 code units of the document's text, the end not included. */
export type Chunk = { start: number; end: number; heading: string };

export type ChunkSize = {
  /** Default 512. */
  tokens: number;
  /** Tokens at the end of a chunk that the next one begins with, at most. Default 64. */
  overlap: number;
};
const DEFAULT_SIZE: ChunkSize = { tokens: 512, overlap: 64 };

/**
 * Cuts a document into chunks. A chunk never crosses a heading, ends where a sentence ends unless the sentence is too long
 * for that, and never cuts what a reader sees as one character. Every character that is not blank is in some chunk.
 */
export function chunksOf(text: string, kind: TextKind, size: ChunkSize = DEFAULT_SIZE): Chunk[] {
  return sectionsOf(text, kind).flatMap((section) => cut(text, section, size));
}

/** Tokens as GPT-4o counts them; other models differ by a few per cent. */
export function tokensOf(text: string): number {
  // Text of a document is text, also where it spells a control token.
  return countTokens(text, { disallowedSpecial: new Set() });
}

type Piece = { start: number; end: number; tokens: number };

function cut(text: string, { start, end, heading }: Section, size: ChunkSize): Chunk[] {
  const pieces = piecesOf(text, start, end, size);
  const chunks: Chunk[] = [];
  let from = 0;
  while (from < pieces.length) {
    let to = from;
    let tokens = 0;
    for (; to < pieces.length; to += 1) {
      tokens += pieces[to]?.tokens ?? 0;
      if (tokens > size.tokens && to > from) break;
    }
    const chunk = trimmed(text, pieces[from]?.start ?? start, pieces[to - 1]?.end ?? end);
    if (chunk !== undefined) chunks.push({ ...chunk, heading });
    if (to === pieces.length) break;
    from = Math.max(from + 1, to - overlapping(pieces.slice(from, to), size.overlap));
  }
  return chunks;
}

/** How many of the last pieces fit into the overlap. */
function overlapping(pieces: readonly Piece[], overlap: number): number {
  let tokens = 0;
  const last = pieces.toReversed();
  const over = last.findIndex((piece) => (tokens += piece.tokens) > overlap);
  return over === -1 ? last.length : over;
}

const SENTENCES = new Intl.Segmenter('en', { granularity: 'sentence' });
const CHARACTERS = new Intl.Segmenter('en', { granularity: 'grapheme' });

/** Sentences; one that is longer than the overlap in runs of words half as long. */
function piecesOf(text: string, start: number, end: number, size: ChunkSize): Piece[] {
  const most = Math.max(1, Math.min(size.tokens, size.overlap));
  const pieces: Piece[] = [];
  for (const { segment, index } of SENTENCES.segment(text.slice(start, end))) {
    const at = start + index;
    const tokens = tokensOf(segment);
    if (tokens <= most) pieces.push({ start: at, end: at + segment.length, tokens });
    else pieces.push(...runsOf(segment, at, Math.max(1, most >> 1)));
  }
  return pieces;
}

/** Characters of a word after which it is cut all the same: no language has longer ones. */
const LONGEST_WORD = 48;

function runsOf(segment: string, offset: number, most: number): Piece[] {
  const runs: Piece[] = [];
  for (const word of wordsOf(segment)) {
    const tokens = tokensOf(segment.slice(word.start, word.end));
    const run = runs.at(-1);
    if (run !== undefined && run.tokens + tokens <= most) {
      run.end = offset + word.end;
      run.tokens += tokens;
    } else runs.push({ start: offset + word.start, end: offset + word.end, tokens });
  }
  return runs;
}

/** Words with the blanks behind them, never cutting a visible character. */
function wordsOf(segment: string): { start: number; end: number }[] {
  const words: { start: number; end: number }[] = [];
  let start = 0;
  let length = 0;
  for (const { segment: character, index } of CHARACTERS.segment(segment)) {
    length += 1;
    if (!/\s/u.test(character) && length < LONGEST_WORD) continue;
    words.push({ start, end: index + character.length });
    start = index + character.length;
    length = 0;
  }
  if (start < segment.length) words.push({ start, end: segment.length });
  return words;
}

/** Without blanks at its ends; a space that carries an accent is a character and stays. */
function trimmed(
  text: string,
  start: number,
  end: number,
): { start: number; end: number } | undefined {
  const piece = text.slice(start, end);
  const lead = /^\s*(?:(?<!\p{Zs})|(?![\p{M}\u200d]))/u.exec(piece)?.[0].length ?? 0;
  const kept = piece.slice(lead).trimEnd().length;
  return kept === 0 ? undefined : { start: start + lead, end: start + lead + kept };
}
