import { describe, expect, onTestFinished, test } from 'vitest';
import { InvalidInputError } from '../../src/contracts/index.ts';
import { anthropicModel, openaiModel, PRICE_LISTS } from '../../src/models/index.ts';
import { costMicros, pricesOf } from '../../src/models/prices.ts';
import { countTokens } from '../../src/models/tokens.ts';
import { startModelServer } from '../support/model-server/index.ts';
import { askAsWorker } from './provider-contract.ts';
import { viewOf } from './views.ts';

const none = { input: 0, cachedInput: 0, cacheWrite: 0, output: 0 };

describe('what a call costs', () => {
  test('each kind of token has its price; the sum is rounded up to a micro-dollar', () => {
    const prices = { input: 2, cachedInput: 0.2, cacheWrite: 2.5, output: 10 };

    expect(costMicros(prices, { input: 100, cachedInput: 50, cacheWrite: 20, output: 7 })).toBe(
      330,
    );
    expect(costMicros(prices, { ...none, cachedInput: 1 })).toBe(1);
    expect(costMicros({ input: 0.1, output: 0.7 }, { ...none, input: 30, output: 10 })).toBe(10);
  });

  test('without a price of their own cached tokens cost what input costs', () => {
    expect(costMicros({ input: 3, output: 0 }, { ...none, cachedInput: 10, cacheWrite: 5 })).toBe(
      45,
    );
  });

  test('a request longer than the threshold costs more as a whole', () => {
    const { prices } = pricesOf('gpt-5.5');

    expect(costMicros(prices, { ...none, input: 272_000, output: 100 })).toBe(1_363_000);
    expect(costMicros(prices, { ...none, input: 200_000, cachedInput: 72_001, output: 100 })).toBe(
      2_000_000 + 72_001 + 4_500,
    );
  });

  test('what the endpoint counted is what is paid, cached tokens included', async () => {
    const usage = { input: 1_000, output: 100, cached: 600 };
    const server = await startModelServer(() => ({ do: 'answer', text: 'Hi.', usage }));
    onTestFinished(() => server.close());
    const baseURL = `${server.origin}/v1`;
    const models = [
      openaiModel({ apiKey: 'k', model: 'gpt-5-mini', api: 'chat', baseURL }),
      openaiModel({ apiKey: 'k', model: 'gpt-5-mini', baseURL }),
      anthropicModel({ apiKey: 'k', model: 'claude-sonnet-5', baseURL: server.origin }),
    ];
    const answers = await Promise.all(models.map((model) => askAsWorker(model)));

    expect(answers.map((answer) => answer.usage)).toEqual([
      { inputTokens: 1_000, outputTokens: 100, costMicros: 100 + 15 + 200 },
      { inputTokens: 1_000, outputTokens: 100, costMicros: 100 + 15 + 200 },
      { inputTokens: 1_000, outputTokens: 100, costMicros: 800 + 120 + 1_000 },
    ]);
  });
});

describe('the price table', () => {
  test('every price is dated, sourced and above zero', () => {
    for (const { source, asOf, models } of PRICE_LISTS) {
      expect(source).toMatch(/^https:\/\//);
      expect(asOf).toMatch(/^\d{4}-\d\d-\d\d$/);
      for (const prices of Object.values(models)) {
        expect(Math.min(prices.input, prices.output)).toBeGreaterThan(0);
        expect(prices.cachedInput).toBeLessThan(prices.input);
      }
    }
  });

  test('a dated snapshot costs what its name costs', () => {
    expect(pricesOf('gpt-5-mini-2025-08-07').prices).toBe(pricesOf('gpt-5-mini').prices);
    expect(pricesOf('claude-haiku-4-5-20251001').prices).toBe(pricesOf('claude-haiku-4-5').prices);
  });

  test('a model nobody knows the price of does not start, and the error says what to set', () => {
    const build = () => openaiModel({ apiKey: 'k', model: 'qwen3:8b', api: 'chat' });

    expect(build).toThrow(InvalidInputError);
    expect(build).toThrow(/model is "qwen3:8b": has no price in the table; set prices/);
    expect(() => pricesOf('gpt-5-max')).toThrow(InvalidInputError);
    expect(() => pricesOf('gpt-5', { input: -1, output: 1 })).toThrow(/prices\.input is -1/);
  });

  test('a configured price stands, also a price of nothing', () => {
    expect(pricesOf('qwen3:8b', { input: 0, output: 0 })).toEqual({
      prices: { input: 0, output: 0 },
      source: 'configuration',
    });
  });
});

describe('settings that cannot be used', () => {
  const good = { apiKey: 'k', model: 'gpt-5' };

  test.each([
    [{ apiKey: '' }, /^apiKey/],
    [{ model: ' ' }, /^model/],
    [{ baseURL: 'localhost:8000' }, /^baseURL/],
    [{ maxOutputTokens: 0 }, /^maxOutputTokens is 0/],
    [{ temperature: 3 }, /^temperature is 3/],
  ])('%j is refused by name', (bad, message) => {
    expect(() => openaiModel({ ...good, ...bad })).toThrow(message);
  });
});

describe('the estimate before a call', () => {
  const model = openaiModel({ apiKey: 'k', model: 'gpt-5', maxOutputTokens: 1_000 });

  test('covers the whole answer that is allowed, and grows with what is said', () => {
    const short = model.estimate(viewOf());
    const long = model.estimate(viewOf({ messages: [{ text: 'order '.repeat(5_000) }] }));

    expect(short.tokens).toBeGreaterThan(1_500);
    expect(short.costMicros).toBeGreaterThan(10_000);
    expect(long.tokens - short.tokens).toBeGreaterThan(5_000);
  });

  test('counts hostile texts in time that grows with their length only', () => {
    const count = (length: number): number => {
      const startedAt = performance.now();
      for (const letter of ['a', '漢', ' ', '9']) countTokens(letter.repeat(length));
      return performance.now() - startedAt;
    };
    count(4_096);
    const small = count(20_000);

    expect(count(200_000)).toBeLessThan(Math.max(small, 5) * 40);
  });

  test('what looks like a control token is counted like any text', () => {
    expect(countTokens('<|endoftext|>')).toBeGreaterThan(1);
  });
});
