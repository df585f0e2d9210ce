import { tokenizer } from './sdk.ts';

/** The merge step of the tokenizer is quadratic in the length of a word; nothing longer than this reaches it. */
const PIECE = 256;

/** Tokens of a text in o200k, a little too many rather than too few. Linear in its length, also for hostile texts. */
export function countTokens(text: string): number {
  const { countTokens: count } = tokenizer();
  let tokens = 0;
  for (let at = 0; at < text.length; at += PIECE) {
    tokens += count(text.slice(at, at + PIECE), { allowedSpecial: NONE, disallowedSpecial: NONE });
  }
  return tokens;
}

/** What looks like a control token is text like any other. */
const NONE: Set<string> = new Set();
