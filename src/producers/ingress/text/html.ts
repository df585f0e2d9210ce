import { compile } from 'html-to-text';
import { MAX_TEXT_LENGTH } from '../../../contracts/index.ts';
import { capped } from './clean.ts';

/** Quotes come out as lines with `>`, so that what splits them off plain text finds them here too. */
const convert = compile({
  wordwrap: false,
  // Deeper than any mail program nests, and before the walk runs out of stack.
  limits: { maxDepth: 100 },
  selectors: [
    ...['h1', 'h2', 'h3', 'h4', 'h5', 'h6'].map((selector) => ({
      selector,
      options: { uppercase: false },
    })),
    { selector: 'a', options: { hideLinkHrefIfSameAsText: true } },
    { selector: 'img', format: 'skip' },
    // What the writer's reader cannot see is not part of the letter.
    { selector: '[style*="display:none"]', format: 'skip' },
    { selector: '[style*="display: none"]', format: 'skip' },
    { selector: 'span.js-signatureMarker', format: 'blockString', options: { string: '-- ' } },
  ],
});

export function htmlToText(html: string): string {
  return convert(capped(html, MAX_TEXT_LENGTH));
}

/** Whether a field that holds either is HTML. */
export function looksLikeHtml(text: string): boolean {
  return /<\/?[a-z][^<>]{0,500}>/i.test(text);
}
