import { describe, expect, test } from 'vitest';
import { judgeClaims } from '../../src/retrieval/cite-judge.ts';
import { Purse } from '../../src/retrieval/purse.ts';
import {
  checkClaims,
  citationOf,
  citedDocuments,
  parseCitation,
  type CitableDocument,
} from '../../src/retrieval/cite.ts';
import { prepare } from '../../src/retrieval/prepare.ts';
import { renderCitations, withoutClaims } from '../../src/retrieval/render-citations.ts';
import { markdown } from './support.ts';

const TEXT =
  '---\ntitle: Returning an item\nurl: https://help.example/returns\n---\n# Returning an item\n\n## How long\n\n' +
  'Unused items can be returned within 30 days of delivery.\n\n## Costs\n\nReturning chairs costs 1,009.90 EUR.\n';

const documentOf = (text = TEXT): CitableDocument => prepare(markdown('returns', text));
const RETURNS = documentOf();

/** The evidence id of a piece of the document's text. */
function cite(quote: string, { id, version, text }: CitableDocument = RETURNS): string {
  const start = text.indexOf(quote);
  return citationOf({ documentId: id, version, start, end: start + quote.length });
}
const QUOTE = cite('Unused items can be returned within 30 days of delivery.');
const CLAIM = { text: 'You can return unused items within 30 days.', evidence: [QUOTE] };

describe('[S1-22] claims', () => {
  test('a claim that cites a passage is located to the character, with title, heading and address', () => {
    expect(checkClaims([CLAIM], [RETURNS])).toEqual({
      objections: [],
      located: [
        {
          ...{ claim: 0, documentId: 'returns', version: RETURNS.version },
          start: TEXT.indexOf('Unused'),
          end: TEXT.indexOf('Unused') + 56,
          quote: 'Unused items can be returned within 30 days of delivery.',
          title: 'Returning an item',
          heading: 'How long',
          url: 'https://help.example/returns',
        },
      ],
    });
  });

  test.each([
    ['no_evidence', []],
    ['malformed_citation', ['doc:returns']],
    ['malformed_citation', [QUOTE.replace('#', ' ')]],
    ['unknown_document', [QUOTE.replace('returns', 'refunds')]],
    ['range_outside', [QUOTE.replace(/\d+$/, '99999')]],
    ['range_outside', [QUOTE.replace(/(\d+)-\d+$/, '$1-$1')]],
    ['not_supported', [cite('Returning chairs costs 1,009.90 EUR.')]],
    ['unknown_document', [QUOTE, QUOTE.replace('returns', 'refunds')]],
  ])('%s: %j is objected to', (code, evidence) => {
    const { located, objections } = checkClaims([{ ...CLAIM, evidence }], [RETURNS]);

    expect(located).toEqual([]);
    expect(objections).toMatchObject([{ claim: 0, code, message: expect.any(String) }]);
  });

  test('a document that was changed after the search makes its old citation fail, also where the quoted words still stand', () => {
    const changed = documentOf(TEXT.replace('Costs', 'Fees'));
    expect(changed.text.slice(0, 160)).toBe(TEXT.slice(0, 160));

    const { located, objections } = checkClaims([CLAIM], [changed]);

    expect(located).toEqual([]);
    expect(objections).toMatchObject([
      {
        code: 'outdated_version',
        message: expect.stringContaining(`it is ${changed.version} now`),
      },
    ]);
  });

  test('a number that the quotation does not have is never supported, however it is written', () => {
    const claim = (text: string) =>
      checkClaims([{ text, evidence: [cite('Returning chairs costs 1,009.90 EUR.')] }], [RETURNS]);

    expect(claim('Returning chairs costs 1009.90 EUR.').objections).toEqual([]);
    expect(claim('Returning chairs costs 1.009,90 EUR.').objections).toEqual([]);
    expect(claim('Returning chairs costs 1009.95 EUR.').objections).toMatchObject([
      { code: 'not_supported' },
    ]);
  });

  test('evidence from observations is left to others; with a citation beside it that must still be found', () => {
    const fact = { text: 'Order 4482 is cancelled.', evidence: ['1.1'] };
    expect(checkClaims([fact], [])).toEqual({ located: [], objections: [] });

    const mixed = { text: 'Order 4482 for 740.00 can be returned.', evidence: ['1.1', QUOTE] };
    const seen = new Map([['1.1', '{"order":"4482","total":74000}']]);
    expect(checkClaims([mixed], [RETURNS], seen).located).toHaveLength(1);
    expect(checkClaims([mixed], [], seen).objections).toMatchObject([{ code: 'unknown_document' }]);
    for (const text of ['Order 4482 for 750.00 can be returned.', 'Broken phones are replaced.']) {
      expect(checkClaims([{ ...mixed, text }], [RETURNS], seen).objections).toMatchObject([
        { code: 'not_supported' },
      ]);
    }
  });

  test('citations can be read back, and say which documents to load', () => {
    const place = { documentId: 'a/b-c.d', version: 'abc123abc123', start: 4, end: 19 };

    expect(parseCitation(citationOf(place))).toEqual(place);
    expect(citedDocuments([CLAIM, CLAIM, { text: 'x', evidence: ['1.1'] }])).toEqual(['returns']);
  });

  test('what the words support the judge may still refuse', async () => {
    const checked = checkClaims(
      [CLAIM, { text: 'Order 1 is paid.', evidence: ['1.1'] }],
      [RETURNS],
    );
    const asked: string[] = [];
    const judge = (supported: boolean) => ({
      purse: new Purse({ tokens: 10, costMicros: 0 }),
      judge: {
        estimate: () => ({ tokens: 1, costMicros: 0 }),
        supports: (claim: string, quote: string) => {
          asked.push(`${claim} | ${quote}`);
          const usage = { inputTokens: 1, outputTokens: 0, costMicros: 0 };
          return Promise.resolve({ supported, usage });
        },
      },
    });

    expect(await judgeClaims(checked, [CLAIM], judge(true))).toEqual(checked);
    const refused = await judgeClaims(checked, [CLAIM], judge(false));
    expect(refused).toMatchObject({
      located: [],
      objections: [{ claim: 0, code: 'not_supported' }],
    });
    expect(asked[0]).toBe(
      `${CLAIM.text} | Unused items can be returned within 30 days of delivery.`,
    );
  });
});

describe('rendering', () => {
  const reply = `Happy to help. ${CLAIM.text} Anything else?`;
  const { located } = checkClaims([CLAIM], [RETURNS]);

  test('a chat gets a link behind the sentence, everything else a footnote below the reply', () => {
    expect(renderCitations(reply, [CLAIM], located, 'chat')).toBe(
      `Happy to help. ${CLAIM.text} ([Returning an item](https://help.example/returns)) Anything else?`,
    );
    expect(renderCitations(reply, [CLAIM], located, 'email')).toBe(
      `Happy to help. ${CLAIM.text} [1] Anything else?\n\n[1] Returning an item, How long: https://help.example/returns`,
    );
  });

  test('one source is one footnote however often it is cited; without an address its name stands there', () => {
    const plain = located.map(({ url: _url, ...range }) => range);
    const twice = [...plain, ...plain.map((range) => ({ ...range, claim: 1 }))];
    const other = { text: 'Thirty days it is.', evidence: [QUOTE] };

    expect(renderCitations('Within 30 days.', [CLAIM, other], twice, 'chat')).toBe(
      'Within 30 days. [1] [1]\n\n[1] Returning an item, How long',
    );
    expect(renderCitations('Nothing to cite.', [], [], 'email')).toBe('Nothing to cite.');
  });

  test('[S1-22] no half of a sentence is left, and what is said twice is left out twice', () => {
    const free = { text: 'returning chairs is free', evidence: [QUOTE] };

    expect(withoutClaims(`${CLAIM.text} Please note that ${free.text}, always!`, [free])).toBe(
      CLAIM.text,
    );
    expect(withoutClaims(`So ${free.text}. ${CLAIM.text} Yes, ${free.text}.`, [free])).toBe(
      CLAIM.text,
    );
    expect(withoutClaims(`Hello,\n\n${CLAIM.text}\n- ${free.text}\n- more`, [free])).toBe(
      `Hello,\n\n${CLAIM.text}\n- more`,
    );
  });

  test('a claim leaves the reply with its sentence; one that is worded differently cannot be taken out', () => {
    expect(withoutClaims(reply, [CLAIM])).toBe('Happy to help. Anything else?');
    expect(withoutClaims(CLAIM.text, [CLAIM])).toBeUndefined();
    expect(withoutClaims('You have a month.', [CLAIM])).toBeUndefined();
  });
});
