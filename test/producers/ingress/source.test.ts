import { expect, test } from 'vitest';
import { ADAPTERS, configureSource } from '../../../src/producers/ingress/index.ts';
import type { SourceOptions } from '../../../src/producers/ingress/index.ts';
import { DEFAULT_RETENTION } from '../../../src/store/retention.ts';

const github: SourceOptions = { name: 'github', type: 'github', secrets: ['a-long-secret'] };

test.each([
  ['a name with a slash', { ...github, name: 'a/b' }, 'source.name is "a/b"'],
  ['no secret', { ...github, secrets: [] }, 'source github: secrets is []: needs at least one'],
  ['a short secret', { ...github, secrets: ['short'] }, '8 characters'],
  ['a secret copied with a line break', { ...github, secrets: ['a-long-secret\n'] }, 'white space'],
  [
    'the test secret everybody knows',
    { ...github, secrets: ['dGhpc19zZWNyZXRfaXNfZm9yX3Rlc3Rpbmdfb25seQ=='] },
    'test secret of Zendesk',
  ],
  [
    'no account of ours where replies would look like those of a person',
    { ...github, type: 'zammad' as const },
    'ownAuthors',
  ],
  ['no mailbox for mail', { ...github, type: 'postmark' as const }, 'ownAddresses'],
])('a source with %s is not set up', (_what, options, said) => {
  expect(() => configureSource(options)).toThrow(said);
});

test('a type nobody knows is answered with those there are', () => {
  const options: unknown = { ...github, type: 'constructor' };

  expect(() => configureSource(options as SourceOptions)).toThrow(/is one of chatwoot, freshdesk/);
});

test('a secret that cannot be used is not shown', () => {
  expect(() => configureSource({ ...github, secrets: ['hunter2'] })).toThrow(/^((?!hunter2).)*$/);
});

test('ids are remembered for longer than any system sends the same delivery again', () => {
  const longest = Math.max(...Object.values(ADAPTERS).map(({ redelivery }) => redelivery.forMs));

  expect(longest).toBeGreaterThanOrEqual(3 * 86_400_000);
  expect(DEFAULT_RETENTION.claimsMs).toBeGreaterThan(longest);
});

test('Chatwoot is never told 503, which it does not repeat; everybody else is, with a time to come back', () => {
  for (const [type, { answers }] of Object.entries(ADAPTERS)) {
    expect(answers.taken.status, type).toBe(200);
    expect(answers.unreadable.status, type).toBe(200);
    expect(answers.notStored, type).toEqual(
      type === 'chatwoot' ? { status: 500 } : { status: 503, headers: { 'retry-after': '30' } },
    );
  }
});

test('what nobody sends again is known, so that it can be looked for', () => {
  const lost = Object.entries(ADAPTERS).filter(([, { redelivery }]) => redelivery.by !== 'source');

  expect(lost.map(([type]) => type)).toEqual(['chatwoot', 'front-rule', 'github']);
});
