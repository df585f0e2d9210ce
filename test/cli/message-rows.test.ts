import { Readable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { badRowText, messageOf } from '../../src/cli/bad-row.ts';
import { readCsvRows } from '../../src/cli/csv-rows.ts';
import { readRows, type Row } from '../../src/cli/message-rows.ts';

async function rowsOf(text: string): Promise<Row[]> {
  const rows: Row[] = [];
  for await (const row of readRows(Readable.from([text]))) rows.push(row);
  return rows;
}

const good = {
  source: 'shop',
  conversationId: 'c1',
  messageId: 'm1',
  text: 'hi',
  requester: { id: 'ana', assurance: 'verified' },
};

describe('the rows of an input', () => {
  test('are one JSON object a line, with the numbers of their lines', async () => {
    expect(await rowsOf('\ufeff{"a":1}\r\n\n{"a":2}\n')).toEqual([
      { line: 1, value: { a: 1 } },
      { line: 3, value: { a: 2 } },
    ]);
  });

  test('end where a line ends, not at a separator of Unicode inside of a text', async () => {
    const text = 'first\u2028second\u2029third\u0085';
    const rows = await rowsOf(
      `${JSON.stringify({ text })}\r\n${JSON.stringify({ text })}\r{"a":1}`,
    );

    expect(rows).toEqual([
      { line: 1, value: { text } },
      { line: 2, value: { text } },
      { line: 3, value: { a: 1 } },
    ]);
  });

  test('are the same however their bytes arrive', async () => {
    const bytes = Buffer.from('{"text":"Grüße 🙂"}\r\n\r\n{"text":"שלום"}\r\n');
    for (const size of [1, 2, 3, 7]) {
      const parts = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
        bytes.subarray(at * size, (at + 1) * size),
      );
      const rows: Row[] = [];
      for await (const row of readRows(Readable.from(parts))) rows.push(row);
      expect(rows).toEqual([
        { line: 1, value: { text: 'Grüße 🙂' } },
        { line: 3, value: { text: 'שלום' } },
      ]);
    }
  });

  test('a line that never ends is named and ends the reading', async () => {
    const endless = Readable.from(
      (function* () {
        yield '{"a":1}\n';
        for (;;) yield 'x'.repeat(1_000_000);
      })(),
    );
    const read = async () => {
      for await (const _row of readRows(endless)) continue;
    };

    await expect(read()).rejects.toThrow(/^line 2 is longer than 16,000,000 characters/);
  });

  test('may be a single object that spreads over lines', async () => {
    expect(await rowsOf(JSON.stringify({ a: { b: 1 } }, null, 2))).toEqual([
      { line: 1, value: { a: { b: 1 } } },
    ]);
  });

  test('bad ones do not swallow the good ones behind or before them', async () => {
    const rows = await rowsOf('nonsense\n{"broken":\n{"a":1}\n[1\n');

    expect(rows.map((row) => [row.line, 'value' in row])).toEqual([
      [1, false],
      [2, false],
      [3, true],
      [4, false],
    ]);
  });

  test('an input without a single object is bad row by row', async () => {
    expect((await rowsOf('nonsense\nmore\n')).map(({ line }) => line)).toEqual([1, 2]);
  });

  test('are read as they arrive: the first one is there before the input ends', async () => {
    const input = new Readable({ read() {} });
    const rows = readRows(input);
    input.push('{"a":1}\n');

    expect((await rows.next()).value).toEqual({ line: 1, value: { a: 1 } });
    input.push(null);
  });
});

describe('the rows of a CSV', () => {
  const HEADER = 'source,conversationId,messageId,requester.id,requester.assurance,subject,text';

  async function csvRows(text: string, chunk = text.length) {
    const chunks = text.match(new RegExp(`[^]{1,${chunk}}`, 'g')) ?? [];
    const notes: string[] = [];
    const rows: Row[] = [];
    for await (const row of readCsvRows(Readable.from(chunks), (line) => notes.push(line))) {
      rows.push(row);
    }
    return { rows, notes };
  }

  test.each([1, 7, 10_000])(
    'are messages, with the line each begins on, however the input is cut (%i characters at a time)',
    async (chunk) => {
      const text = `\ufeff${HEADER}\r\n\r\nshop,c1,m1,ana,verified,,"He said ""hi"",\r\nand left"\r\nshop,c2,m2,bo,none,Late,\r\n`;

      const { rows, notes } = await csvRows(text, chunk);

      expect(notes).toEqual([]);
      expect(rows).toEqual([
        { line: 3, value: { ...good, text: 'He said "hi",\nand left' } },
        {
          line: 5,
          value: {
            ...{ source: 'shop', conversationId: 'c2', messageId: 'm2', subject: 'Late', text: '' },
            requester: { id: 'bo', assurance: 'none' },
          },
        },
      ]);
      expect(rows.map(messageOf).filter((message) => 'fix' in message)).toEqual([]);
    },
  );

  test('bad ones are named by their line and do not swallow the good ones', async () => {
    const row = (id: string, text: string) => `shop,c1,${id},ana,verified,,${text}`;
    const text = [HEADER, row('m1', 'hi'), 'shop,c1', row('m3', 'br"oken'), row('m4', 'ok'), ''];

    const { rows } = await csvRows([...text, row('m7', '"open'), row('m8', 'x')].join('\n'));

    const said = rows.map((one) => {
      const message = messageOf(one);
      return 'fix' in message ? badRowText(message) : message.messageId;
    });
    expect(said.toSorted()).toEqual([
      'line 3: row is no row of the CSV: must have as many cells as the header',
      'line 4: row is no row of the CSV: a quote inside of a cell must be doubled, and the cell be put into quotes',
      expect.stringMatching(
        /^line \d: row is no row of the CSV: a quote is opened and never closed/,
      ),
      'm1',
      'm4',
    ]);
  });

  test('need their columns; others are left out, and that is said', async () => {
    await expect(csvRows('source,text\nshop,hi\n')).rejects.toThrow(
      /^line 1: the header has no column conversationId, messageId, requester\.id, /,
    );
    const { rows, notes } = await csvRows(
      `${HEADER},agent group\nshop,c1,m1,ana,verified,,hi,tier 2\n`,
    );
    expect(notes).toEqual(['left out, no part of a message: agent group']);
    expect(rows).toEqual([{ line: 2, value: good }]);
  });

  test('a quote that is never closed ends the reading of a large file', async () => {
    const rows = `${'x'.repeat(200)},c,m,r,none,,y\n`.repeat(20_000);

    await expect(csvRows(`${HEADER}\nshop,"c1,m1\n${rows}`, 65_536)).rejects.toThrow(
      /^the row before line \d+ does not end: close the quote/,
    );
  });
});

describe('a bad row', () => {
  const bad = (value: unknown): string => {
    const row = messageOf({ line: 7, value });
    return 'fix' in row ? badRowText(row) : 'good';
  };

  test('is named by line, field, value and fix', () => {
    expect(bad({ ...good, requester: { id: 'ana', assurance: 'sure' } })).toBe(
      'line 7: requester.assurance is "sure": must be one of none, claimed, verified',
    );
    expect(bad({ ...good, conversationId: undefined })).toMatch(
      /^line 7: conversationId is missing: must be /,
    );
    expect(bad([good])).toBe('line 7: row is an array: must be a JSON object');
    expect(bad(good)).toBe('good');
  });

  test('does not repeat mail addresses', () => {
    expect(bad({ ...good, requester: 'ana@example.com' })).toContain('"[mail]"');
  });
});
