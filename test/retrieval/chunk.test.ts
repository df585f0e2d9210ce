import { fc, test as property } from '@fast-check/vitest';
import { describe, expect, test } from 'vitest';
import { chunksOf, tokensOf, type Chunk } from '../../src/retrieval/chunk.ts';
import { prepare } from '../../src/retrieval/prepare.ts';

const PROSE = Array.from(
  { length: 120 },
  (_, at) => `Sentence number ${at} tells something about the warranty of lamp model ${at * 7}.`,
).join(' ');

/** What makes ranges go wrong: pairs, joined emoji, accents of their own, CRLF, and markup. */
const piece = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 40 }),
  fc.string({ unit: 'binary', maxLength: 20 }),
  fc.constantFrom(
    ...[
      '👩‍👩‍👧‍👦',
      '🇩🇪🇫🇷',
      'e\u0301',
      'n\u0303\u0323',
      ' \u0301',
      '\u200d',
      '\r\n',
      '\r\n\r\n',
      '\n\n',
      '\t',
    ],
    ...[
      '# Title\r\n',
      '\n## Part\n',
      '\nUnder\n-----\n',
      '```\n# code\n```\n',
      '---\n',
      '<|endoftext|>',
    ],
    ...['A sentence. ', 'Another one! ', 'word '.repeat(80), 'x'.repeat(300), '漢字かな交じり文。'],
  ),
);
const document = fc.array(piece, { maxLength: 25 }).map((parts) => parts.join(''));
const size = fc.record({
  tokens: fc.integer({ min: 4, max: 512 }),
  overlap: fc.integer({ min: 0, max: 64 }),
});
const CHARACTERS = new Intl.Segmenter('en', { granularity: 'grapheme' });

function uncovered(text: string, chunks: readonly Chunk[]): string {
  const seen = new Uint8Array(text.length);
  for (const { start, end } of chunks) seen.fill(1, start, end);
  return [...seen].map((one, at) => (one === 1 ? '' : text.charAt(at))).join('');
}

describe('ranges', () => {
  property.prop([document, size, fc.constantFrom('markdown', 'plain')], { numRuns: 300 })(
    '[S1-22] for any document and any chunking each range is the exact characters, whole as a reader sees them, and none is lost',
    (text, chunkSize, kind) => {
      const body = kind === 'markdown' ? text.replace(/^---/, 'x---') : text;
      const chunks = chunksOf(body, kind, chunkSize);
      const edges = new Set([...CHARACTERS.segment(body)].map(({ index }) => index)).add(
        body.length,
      );

      for (const { start, end } of chunks) {
        expect(start).toBeLessThan(end);
        expect(edges.has(start) && edges.has(end)).toBe(true);
      }
      expect(uncovered(body, chunks).trim()).toBe('');
    },
  );

  test('[S1-22] a line break carries no mark and is not cut in two', () => {
    expect(chunksOf('\r\n\r\n\u200D', 'markdown')).toMatchObject([{ start: 4, end: 5 }]);
    expect(chunksOf('\r\n \u0301', 'markdown')).toMatchObject([{ start: 2, end: 4 }]);
  });

  test('[S1-22] CRLF, emoji and combining marks: what is stored for a chunk is what its range cuts out of the stored text', () => {
    const text =
      '# Crème bru\u0302le\u0301e\r\n\r\nServe 👩‍👩‍👧‍👦 cold.\r\n\r\n## Café\r\n\r\nOpen 🇩🇪 daily.\r\n';

    const { text: stored, chunks } = prepare({
      ...{ id: 'menu', source: 'menu.md', as: 'markdown' },
      bytes: Buffer.from(text),
    });

    expect(stored).toBe(text);
    expect(chunks.map((chunk) => chunk.text)).toEqual(
      chunks.map(({ start, end }) => text.slice(start, end)),
    );
    expect(chunks.map((chunk) => chunk.text)).toEqual([
      '# Crème bru\u0302le\u0301e\r\n\r\nServe 👩‍👩‍👧‍👦 cold.',
      '## Café\r\n\r\nOpen 🇩🇪 daily.',
    ]);
  });
});

describe('size', () => {
  test('[S1-19] long text is cut into chunks of about 512 tokens that begin with about the last 64 of the one before', () => {
    const chunks = chunksOf(PROSE, 'plain');

    const tokens = chunks.map(({ start, end }) => tokensOf(PROSE.slice(start, end)));
    expect(chunks.length).toBeGreaterThan(3);
    for (const count of tokens) expect(count).toBeLessThanOrEqual(512);
    for (const count of tokens.slice(0, -1)) expect(count).toBeGreaterThan(448);
    for (const [at, chunk] of chunks.slice(1).entries()) {
      const shared = tokensOf(PROSE.slice(chunk.start, chunks[at]?.end));
      expect(shared).toBeGreaterThan(32);
      expect(shared).toBeLessThanOrEqual(64);
    }
  });

  test('[S1-19] one sentence without an end is cut too, and keeps its overlap', () => {
    const endless = 'word '.repeat(3_000);

    const chunks = chunksOf(endless, 'plain');

    expect(chunks.length).toBeGreaterThan(5);
    for (const { start, end } of chunks) {
      expect(tokensOf(endless.slice(start, end))).toBeLessThanOrEqual(512);
    }
    expect(chunks[1]?.start).toBeLessThan(chunks[0]?.end ?? 0);
  });
});

describe('headings', () => {
  test('a chunk never crosses a heading and knows those above it; code that looks like one is none', () => {
    const text = [
      ...[
        '---',
        'title: Shop',
        '---',
        '# Shop',
        '',
        '## Returns',
        '',
        'Within 30 days.',
        '',
        '### Costs',
        '',
      ],
      ...[
        'Free.',
        '',
        '```',
        '# no heading',
        '```',
        '',
        'Opening hours',
        '-------------',
        '',
        'Nine to five.',
      ],
    ].join('\n');

    const chunks = chunksOf(text, 'markdown');

    expect(chunks.map(({ heading }) => heading)).toEqual([
      'Returns',
      'Returns > Costs',
      'Opening hours',
    ]);
    expect(text.slice(chunks[1]?.start, chunks[1]?.end)).toBe(
      '### Costs\n\nFree.\n\n```\n# no heading\n```',
    );
    expect(text.slice(chunks[0]?.start)).toMatch(/^# Shop/);
  });
});
