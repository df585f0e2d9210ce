import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { proposalSchema } from '../../src/contracts/index.ts';
import { actionHash, canonicalJson, digest, intentOf } from '../../src/loop/index.ts';

test('[S1-08] the action hash is SHA-256 over the tool and its canonical arguments', () => {
  const expected = createHash('sha256').update('refund\n{"a":1,"b":2}').digest('hex');

  expect(actionHash('refund', { b: 2, a: 1 })).toBe(expected);
  expect(actionHash('refund', { a: 1, b: 3 })).not.toBe(expected);
  expect(actionHash('cancel', { a: 1, b: 2 })).not.toBe(expected);
});

test('an intent depends on the conversation and its oldest message, and on nothing else', () => {
  expect(intentOf('c1', 'm1')).toBe(intentOf('c1', 'm1'));
  expect(intentOf('c1', 'm2')).not.toBe(intentOf('c1', 'm1'));
  expect(intentOf('c2', 'm1')).not.toBe(intentOf('c1', 'm1'));
});

test.each(['35436', 'zendesk:35436:m1', '<a@b>', '🙂', 'x'.repeat(400)])(
  'a digest can name a job whatever it was made of: %s',
  (part) => {
    expect(digest(part)).toMatch(/^x[\w-]{21}$/);
  },
);

test('parts of a digest do not run into each other', () => {
  expect(digest('a', 'bc')).not.toBe(digest('ab', 'c'));
});

test('equal values have equal canonical JSON', () => {
  expect(canonicalJson({ b: [1, { d: 1, c: 2 }], a: 'x' })).toBe('{"a":"x","b":[1,{"c":2,"d":1}]}');
});

test('[S1-03] [S2-16] a proposal carries no result of its own and no private reasoning', () => {
  const proposal = proposalSchema.parse({
    kind: 'tool_calls',
    reasoning: 'secret thoughts',
    calls: [{ id: 'c', tool: 'refund', arguments: {}, result: 'done', status: 'verified' }],
  });

  expect(proposal).toEqual({
    kind: 'tool_calls',
    calls: [{ id: 'c', tool: 'refund', arguments: {} }],
  });
});
