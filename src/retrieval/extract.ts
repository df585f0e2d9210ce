import { htmlToText } from 'html-to-text';
import { InvalidInputError } from '../contracts/index.ts';
import { frontMatterEnd, sectionsOf, type TextKind } from './outline.ts';

/** A document as it is stored: ranges of citations count characters of this text. */
export type Extracted = { title: string; url?: string; text: string; kind: TextKind };

/** File endings that are read, and what is in them. */
export const READABLE = {
  '.md': 'markdown',
  '.markdown': 'markdown',
  '.html': 'html',
  '.htm': 'html',
  '.txt': 'plain',
} as const satisfies Record<string, TextKind | 'html'>;
export type Readable = (typeof READABLE)[keyof typeof READABLE];

/** Largest file that is read, in bytes. */
export const MAX_FILE_BYTES = 20_000_000;

/**
 * Text and title of a file. Markdown and plain text stay as they are, character by character; HTML becomes Markdown.
 *
 * @throws InvalidInputError naming the file when it is no UTF-8, too large or empty
 */
export function extract(file: string, bytes: Uint8Array, as: Readable): Extracted {
  if (bytes.byteLength > MAX_FILE_BYTES) {
    throw new InvalidInputError(
      file,
      bytes.byteLength,
      `must have at most ${MAX_FILE_BYTES} bytes`,
    );
  }
  const raw = decode(file, bytes);
  const kind = as === 'plain' ? 'plain' : 'markdown';
  const text = as === 'html' ? markdownOf(raw) : raw;
  if (text.slice(kind === 'markdown' ? frontMatterEnd(text) : 0).trim() === '') {
    throw new InvalidInputError(file, text, 'holds no text; remove it or write something into it');
  }
  const head = kind === 'markdown' ? text.slice(0, frontMatterEnd(text)) : '';
  const field = (name: string): string =>
    new RegExp(`^${name}:[ \\t]*["']?(.*?)["']?[ \\t]*\\r?$`, 'm').exec(head)?.[1] ?? '';
  const url = field('url');
  return {
    title: field('title') || titleOf(text, kind) || file,
    ...(URL.canParse(url) && /^https?:/.test(url) ? { url } : {}),
    text,
    kind,
  };
}

function decode(file: string, bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new InvalidInputError(file, '(bytes)', 'must be UTF-8 text; convert it first');
  }
}

/** The first heading, or the first line. */
function titleOf(text: string, kind: TextKind): string {
  const [first] = sectionsOf(text, kind);
  const body = text.slice(first?.start ?? 0).trimStart();
  const line = body.split(/\r?\n/, 1)[0] ?? '';
  return line.replace(/^#+\s*/, '').slice(0, 120);
}

function markdownOf(html: string): string {
  const heading = (level: number) => ({
    selector: `h${level}`,
    format: 'markdownHeading',
    options: { level },
  });
  return htmlToText(html, {
    wordwrap: false,
    formatters: {
      markdownHeading: (element, walk, builder, options) => {
        builder.openBlock({ leadingLineBreaks: 2 });
        builder.addLiteral(`${'#'.repeat(Number(options['level'] ?? 1))} `);
        walk(element.children, builder);
        builder.closeBlock({ trailingLineBreaks: 2 });
      },
    },
    selectors: [
      ...[1, 2, 3, 4, 5, 6].map(heading),
      { selector: 'a', options: { ignoreHref: true } },
      ...['img', 'nav', 'script', 'style', 'title'].map((selector) => ({
        selector,
        format: 'skip',
      })),
    ],
  });
}
