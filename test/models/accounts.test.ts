import { describe, expect, test } from 'vitest';
import {
  anthropicModel,
  openaiModel,
  recording,
  scriptedModel,
  withBreaker,
  withFallback,
  type ScriptedAnswer,
} from '../../src/models/index.ts';
import { askAsWorker } from './provider-contract.ts';

const KEY = 'sk-test-0123456789abcdefghij';
const model = (apiKey = KEY, api: 'chat' | 'responses' = 'chat', name = 'gpt-5') =>
  openaiModel({ apiKey, api, model: name });
const helped: ScriptedAnswer = { kind: 'finish_candidate', reply: 'Hello.' };

describe('the account limits are counted on', () => {
  test('[P16] names vendor, host and a digest of the key, never the key', () => {
    expect(model().account).toMatch(/^openai\/api\.openai\.com\/[0-9a-f]{8}$/);
    expect(anthropicModel({ apiKey: KEY, model: 'claude-haiku-4-5' }).account).toMatch(
      /^anthropic\/api\.anthropic\.com\/[0-9a-f]{8}$/,
    );
    expect(KEY).not.toContain(model().account?.split('/').at(-1));
  });

  test('is one for all models of a key, another for another key or endpoint', () => {
    expect(model().account).toBe(model(KEY, 'responses', 'gpt-5-mini').account);
    const local = openaiModel({
      ...{ apiKey: KEY, model: 'm', prices: { input: 0, output: 0 } },
      baseURL: 'http://127.0.0.1:8000/v1',
    });
    expect(new Set([model(), model('another'), local].map(({ account }) => account)).size).toBe(3);
  });

  test('stays the same behind a breaker and a recording', () => {
    expect(withBreaker(model()).account).toBe(model().account);
    expect(recording(model(), '/dev/null').account).toBe(model().account);
  });

  test('of two models is limited only when both are, and unnamed when one of them names none', () => {
    const other = model('another');
    const nameless = scriptedModel(() => helped);

    expect(withFallback(model(), other).account).toBe(`${model().account}+${other.account}`);
    expect(withFallback(model(), model(KEY, 'chat', 'gpt-5-mini')).account).toBe(model().account);
    expect(withFallback(model(), nameless).account).toBeUndefined();
  });
});

test('a first model that has said when to come back is not asked before, and is then', async () => {
  let asked = 0;
  const first = scriptedModel((): ScriptedAnswer => {
    asked += 1;
    return asked === 1
      ? { kind: 'fails', failure: { kind: 'rate_limited', retryAt: Date.now() + 150 } }
      : { kind: 'refuse', reply: 'No.' };
  });
  const both = withFallback(
    first,
    scriptedModel(() => helped),
  );
  const kind = async (): Promise<string | undefined> => {
    const answer = await askAsWorker(both);
    return answer.ok ? answer.proposal.kind : undefined;
  };

  expect([await kind(), await kind(), asked]).toEqual(['finish_candidate', 'finish_candidate', 1]);
  await expect.poll(kind).toBe('refuse');
});
