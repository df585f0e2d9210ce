import { describe, expect, test } from 'vitest';
import { csvCell, visible, visibleJson } from '../../src/cli/visible-text.ts';
import { count, dollars, duration, listed } from '../../src/cli/wording.ts';

describe('text of a customer on a terminal', () => {
  test('control sequences and line breaks are shown, not run', () => {
    expect(visible('a\u001b[31mred\u0007\r\n\tb\u009b2J')).toBe(
      'a\\e[31mred\\u{7}\\r\\n\\tb\\u{9b}2J',
    );
  });

  test('direction marks, invisible spaces and tags are shown', () => {
    expect(visible('pay \u202e001\u2066x\u200b\ufeff\u{e0041}')).toBe(
      'pay \\u{202e}001\\u{2066}x\\u{200b}\\u{feff}\\u{e0041}',
    );
  });

  test('letters of every script and emoji stay what they are', () => {
    expect(visible('Größe 漢字 العربية 🙂')).toBe('Größe 漢字 العربية 🙂');
  });

  test('JSON keeps its values and loses every character that could act', () => {
    const value = { text: 'a\u001b[31m\u202e\u009b\u{e0041}\n' };

    const json = visibleJson(value, 2);

    expect(json).not.toMatch(/[\u001b\u009b\u202e\u{e0041}]/u);
    expect(JSON.parse(json)).toEqual(value);
  });
});

describe('a cell of a CSV file', () => {
  test.each(['=1+1', '+1', '-1', '@SUM(A1)', ' =1', '＝1'])('%s is no formula any more', (text) => {
    expect(csvCell(text)).toBe(`'${text}`);
  });

  test('quotes, commas and objects are quoted; numbers and nothing are not', () => {
    expect([csvCell('a,"b"'), csvCell({ a: 1 }), csvCell(-5), csvCell(null)]).toEqual([
      '"a,""b"""',
      '"{""a"":1}"',
      '-5',
      '',
    ]);
  });
});

test('stretches of time, money and numbers are said in words a person uses', () => {
  expect([120, 4_240, 252_000, 7_500_000, 273_600_000].map(duration)).toEqual([
    '120 ms',
    '4.2 s',
    '4 min 12 s',
    '2 h 5 min',
    '3 d 4 h',
  ]);
  expect([dollars(12_300), count(1, 'round'), count(1_200, 'round')]).toEqual([
    '$0.0123',
    '1 round',
    '1,200 rounds',
  ]);
  expect(listed(['a', 'b', 'c'])).toBe('a, b and c');
});
