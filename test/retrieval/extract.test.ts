import { describe, expect, test } from 'vitest';
import { extract } from '../../src/retrieval/extract.ts';
import { findFiles } from '../../src/retrieval/files.ts';
import { prepare } from '../../src/retrieval/prepare.ts';
import { folder } from './support.ts';

describe('files', () => {
  test('Markdown, HTML and plain text of a folder are found by ending; everything else is named as passed over', () => {
    const root = folder({
      'a.md': '# A\n\nx',
      'deep/b b.html': '<h1>B</h1>y',
      'c.txt': 'C\n\nz',
      'd.pdf': '%',
    });

    const { files, ignored } = findFiles([root]);

    expect(files.map(({ id, as }) => [id, as])).toEqual([
      ['a', 'markdown'],
      ['c', 'plain'],
      ['deep/b-b', 'html'],
    ]);
    expect(ignored).toEqual([expect.stringContaining('d.pdf')]);
  });

  test('two files of one id, a missing path and a file that is no text are refused by name', () => {
    const root = folder({ 'a.md': 'x', 'a.txt': 'y', 'b.pdf': '%' });

    expect(() => findFiles([root])).toThrow(/a\.txt.*would have the id of.*a\.md/);
    expect(() => findFiles([`${root}/none`])).toThrow(/none.*does not exist/);
    expect(() => findFiles([`${root}/b.pdf`])).toThrow(/b\.pdf.*must be one of \.md/);
    expect(() => extract('bad.md', Uint8Array.of(0xff, 0xfe, 0x41), 'markdown')).toThrow(
      /bad\.md.*must be UTF-8/,
    );
    expect(() => extract('empty.md', Buffer.from('---\ntitle: x\n---\n'), 'markdown')).toThrow(
      /empty\.md.*holds no text/,
    );
  });
});

describe('text', () => {
  test('HTML becomes Markdown: headings stay headings, markup, scripts and hidden styles are gone', () => {
    const html =
      '<html><head><title>x</title><style>p{}</style><script>alert(1)</script></head><body><h1>Care</h1>' +
      '<h2>Lamps</h2><p>Wipe &amp; dry, see <a href="https://a.example">here</a>.</p></body></html>';

    const { chunks, title } = prepare({
      id: 'care',
      source: 'c.html',
      bytes: Buffer.from(html),
      as: 'html',
    });

    expect(title).toBe('Care');
    expect(chunks.map(({ heading, text }) => [heading, text])).toEqual([
      ['Lamps', '# Care\n\n## Lamps\n\nWipe & dry, see here.'],
    ]);
  });

  test('title and address come from the front matter; an address that is no web address is left out', () => {
    const text = (url: string): Buffer =>
      Buffer.from(`---\ntitle: "Returns"\nurl: ${url}\n---\n# Other\n\nx`);

    expect(extract('r.md', text('https://help.example/r'), 'markdown')).toMatchObject({
      title: 'Returns',
      url: 'https://help.example/r',
    });
    expect(extract('r.md', text('javascript:alert(1)'), 'markdown')).not.toHaveProperty('url');
  });
});
