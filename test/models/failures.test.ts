import { describe, expect, onTestFinished, test } from 'vitest';
import { failureOf, wireError } from '../../src/models/failures.ts';
import { openaiModel } from '../../src/models/index.ts';
import { LONGEST_WAIT_MS, retryAtOf } from '../../src/models/retry-after.ts';
import { fault, startModelServer } from '../support/model-server/index.ts';
import { askAsWorker } from './provider-contract.ts';

const NOW = Date.parse('2026-12-01T10:00:00Z');

describe('when a provider wants us back', () => {
  const after = (headers: Record<string, string>): number | undefined => {
    const at = retryAtOf(new Headers(headers), NOW);
    return at === undefined ? undefined : at - NOW;
  };

  test.each([
    [{ 'retry-after': '7' }, 7_000],
    [{ 'retry-after': '0.5' }, 500],
    [{ 'retry-after-ms': '250', 'retry-after': '7' }, 250],
    [{ 'retry-after': 'Tue, 01 Dec 2026 10:00:30 GMT' }, 30_000],
    [{ 'retry-after': 'Tue, 01 Dec 2026 09:00:00 GMT' }, 0],
    [{ 'retry-after': '86400' }, LONGEST_WAIT_MS],
  ])('%j is a wait of %i ms', (headers, wait) => {
    expect(after(headers)).toBe(wait);
  });

  test('a date is read against the clock of whoever sent it', () => {
    const headers = {
      date: 'Tue, 01 Dec 2026 12:00:00 GMT',
      'retry-after': 'Tue, 01 Dec 2026 12:00:20 GMT',
    };
    expect(after(headers)).toBe(20_000);
  });

  test.each([{}, { 'retry-after': 'soon' }, { 'retry-after': '-3' }])(
    '%j says nothing',
    (headers) => {
      expect(after(headers)).toBeUndefined();
    },
  );
});

describe('what an error means', () => {
  test.each([
    [429, { error: { code: 'insufficient_quota' } }, 'quota_exhausted'],
    [
      429,
      { error: { message: 'You exceeded your current quota, please check your plan and billing' } },
      'quota_exhausted',
    ],
    [
      429,
      { error: { message: 'You exceeded your current quota. Please retry in 32s.' } },
      'rate_limited',
    ],
    [402, { error: { message: 'Insufficient Balance' } }, 'quota_exhausted'],
    [
      400,
      {
        type: 'error',
        error: { type: 'invalid_request_error', message: 'Your credit balance is too low' },
      },
      'quota_exhausted',
    ],
    [429, { error: { message: 'Concurrency limit reached for requests' } }, 'concurrency_limited'],
    [429, { error: { type: 'engine_overloaded_error', message: 'try again later' } }, 'overloaded'],
    [429, 'slow down', 'rate_limited'],
    [529, { type: 'error', error: { type: 'overloaded_error' } }, 'overloaded'],
    [
      400,
      { error: { code: 400, type: 'exceed_context_size_error', message: 'the request exceeds' } },
      'context_overflow',
    ],
    [
      400,
      { error: { message: 'input token count (9000) exceeds the maximum' } },
      'context_overflow',
    ],
    [400, '', 'context_overflow'],
    [413, '', 'context_overflow'],
    [400, { error: { code: 'content_filter', message: 'filtered' } }, 'content_filter'],
    [403, { error: { message: 'flagged', metadata: { reasons: ['violence'] } } }, 'content_filter'],
    [
      400,
      { error: { message: 'API key not valid. Please pass a valid API key.' } },
      'authentication_failed',
    ],
    [403, { error: { message: 'no' } }, 'authentication_failed'],
    [502, '<html>Bad gateway</html>', 'server_error'],
    [408, '', 'server_error'],
    [500, { error: { message: 'oops' } }, 'server_error'],
  ])('%i %j is %s', (status, body, kind) => {
    expect(failureOf(wireError(body, status)).kind).toBe(kind);
  });

  test('a request that will never be accepted is not one to repeat', () => {
    for (const status of [400, 404, 405, 422]) {
      const { kind } = failureOf(wireError({ detail: 'Unknown parameter' }, status));
      expect(['server_error', 'unavailable', 'rate_limited']).not.toContain(kind);
    }
  });

  test('[P16] what is recorded of an error is its name, never its words', () => {
    const secret = 'Incorrect API key provided: sk-abcdefghijklmnop for ana@example.com';
    const failure = failureOf(
      wireError({ error: { code: 'invalid_api_key', message: secret } }, 401),
    );

    expect(failure.detail).toBe('http 401, invalid_api_key');
    const odd = failureOf(wireError({ error: { code: secret, message: secret } }, 500));
    expect(odd.detail).toBe('http 500');
  });
});

describe('an error is looked at once', () => {
  test('[S3-35] however it is worded to an SDK, one call is one request', async () => {
    for (const [index, status] of [408, 409, 429, 500, 503].entries()) {
      const server = await startModelServer(() => ({
        ...{ do: 'status', status, body: { error: {} } },
        headers: { 'x-should-retry': 'true', 'retry-after-ms': '1200' },
      }));
      onTestFinished(() => server.close());
      const api = index % 2 === 0 ? 'chat' : 'responses';
      const settings = { apiKey: 'none', model: 'm', prices: { input: 0, output: 0 } };
      await askAsWorker(openaiModel({ ...settings, api, baseURL: `${server.origin}/v1` }));
      expect(server.requests).toHaveLength(1);
    }
  });

  test('a server nobody listens at is a network failure with its code', async () => {
    const server = await startModelServer(({ api }) => fault('error', api));
    await server.close();
    const settings = { apiKey: 'none', model: 'm', prices: { input: 0, output: 0 } };
    const answer = await askAsWorker(openaiModel({ ...settings, baseURL: `${server.origin}/v1` }));

    expect(answer).toEqual({
      ok: false,
      failure: { kind: 'network_failure', detail: 'ECONNREFUSED' },
    });
  });
});
