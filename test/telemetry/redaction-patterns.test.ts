import { describe, expect, test } from 'vitest';
import { redactPatterns } from '../../src/telemetry/redaction-patterns.ts';

describe('[S2-42] [P16] what must not be kept in clear is replaced', () => {
  test.each([
    ['mail', 'write to Ana.Müller+shop@exämple.co.uk now', 'write to [mail] now'],
    ['card', 'card 4111 1111 1111 1111 ok', 'card [number] ok'],
    ['card without gaps', '5500005555555559', '[number]'],
    ['card with dashes', '4111-1111-1111-1111', '[number]'],
    ['iban', 'DE89 3704 0044 0532 0130 00', '[iban]'],
    ['phone', 'call +49 170 1234567 or (030) 901820', 'call [phone] or [phone]'],
    ['American phone', '(555) 123-4567', '[phone]'],
    ['OpenAI key', 'sk-proj-abcdefghijklmnop', '[key]'],
    ['GitHub key', 'ghp_abcdefghijklmnopqrst1234', '[key]'],
    ['AWS key', 'AKIAIOSFODNN7EXAMPLE', '[key]'],
    ['web token', 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc-def', '[key]'],
    ['header', 'authorization: Bearer abcdef1234567890', 'authorization: [key]'],
    ['URL', 'redis://user:hunter2@db:6379', 'redis://user:[key]@db:6379'],
    ['named secret', 'password = hunter2, ok', 'password = [key], ok'],
    ['private key', '-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----', '[key]'],
  ])('%s', (_what, text, expected) => {
    expect(redactPatterns(text)).toBe(expected);
  });

  test.each([
    'order 10-48300 of 2026-12-01',
    'order #4482, 3 items, 129.90 EUR',
    'conversation zendesk/35436',
    'trace 0af7651916cd43dd8448eb211c80319c',
    'ticket 00123456 at 12:30:45',
    'https://example.com/orders/4482?page=2',
    'version 1.29.2, round 3 of 5',
    '10.0.0.1:6379',
  ])('leaves alone: %s', (text) => {
    expect(redactPatterns(text)).toBe(text);
  });

  test('a megabyte of awkward text takes no noticeable time', () => {
    const awkward = ['1 '.repeat(500_000), 'a.'.repeat(500_000), 'a'.repeat(1_000_000)];

    for (const text of awkward) {
      const startedAt = performance.now();
      redactPatterns(text.slice(0, 100_000));
      expect(performance.now() - startedAt).toBeLessThan(1_000);
    }
  });
});
