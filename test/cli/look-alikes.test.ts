import { describe, expect, test } from 'vitest';
import { lookAlikes, revealed } from '../../src/cli/look-alikes.ts';

describe('letters that pretend to be others, for who has to decide by them', () => {
  test.each([
    ['a word in two alphabets', 'p\u0430ypal', String.raw`p\u{430}ypal`],
    [
      'the half of an address',
      'ana@\u0441\u043e\u0441\u043e.com',
      String.raw`ana@\u{441}\u{43e}\u{441}\u{43e}.com`,
    ],
    ['full width', '\uff50\uff41\uff59', String.raw`\u{ff50}\u{ff41}\u{ff59}`],
    ['mathematical letters', '\u{1d429}ay', String.raw`\u{1d429}ay`],
    ['a digit of another script', '12\u0663', String.raw`12\u{663}`],
    ['Greek among Latin letters', '\u03a9mega', String.raw`\u{3a9}mega`],
  ])('%s is written as its number', (_what, text, shown) => {
    expect(revealed(text)).toBe(shown);
    expect(lookAlikes({ note: [text] })).toEqual([shown]);
  });

  test.each([
    'Größe naïve café',
    'Верните деньги за iPhone',
    'Tシャツ 漢字 かな',
    'αβγ',
    'العربية ٣',
    '한국어ABC',
  ])('%s stays what it is', (text) => {
    expect(revealed(text)).toBe(text);
    expect(lookAlikes(text)).toEqual([]);
  });

  test('what acts or hides is shown as well, and names of fields are looked at too', () => {
    expect(revealed('IBAN \u202e42\u200b')).toBe(String.raw`IBAN \u{202e}42\u{200b}`);
    expect(lookAlikes({ '\u0430mount': 1 })).toEqual([String.raw`\u{430}mount`]);
  });
});
