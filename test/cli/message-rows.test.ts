import { Readable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { badRowText, messageOf } from '../../src/cli/bad-row.ts';
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
