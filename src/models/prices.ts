import { InvalidInputError } from '../contracts/index.ts';
import type { WireUsage } from './wire.ts';

/** Dollars per million tokens, which is micro-dollars per token. */
export type Prices = {
  input: number;
  output: number;
  /** Input read from a cache. Default: as `input`. */
  cachedInput?: number;
  /** Input written to a cache. Default: as `input`. */
  cacheWrite?: number;
  /** Requests with more input than `above` tokens cost these multiples. */
  long?: { above: number; input: number; output: number };
};

export type PriceList = {
  /** The page the prices are from. */
  source: string;
  /** Day on which they were last compared, ISO 8601. */
  asOf: string;
  models: Readonly<Record<string, Prices>>;
};

const LONG = { above: 272_000, input: 2, output: 1.5 };

/** Standard processing, no discounts, no premiums. Prices change: whoever pays others configures `prices`. */
export const PRICE_LISTS: readonly PriceList[] = [
  {
    source: 'https://developers.openai.com/api/docs/pricing',
    asOf: '2026-10-27',
    models: {
      'gpt-6.1-sol': { input: 2, cachedInput: 0.1, cacheWrite: 2.5, output: 10, long: LONG },
      'gpt-6.1-terra': { input: 1, cachedInput: 0.05, cacheWrite: 1.25, output: 5, long: LONG },
      'gpt-6-sol': { input: 2, cachedInput: 0.2, cacheWrite: 2.5, output: 10, long: LONG },
      'gpt-6-luna': { input: 0.1, cachedInput: 0.01, cacheWrite: 0.125, output: 0.5, long: LONG },
      'gpt-5.6-sol': { input: 5, cachedInput: 0.5, cacheWrite: 6.25, output: 30, long: LONG },
      'gpt-5.6-terra': { input: 2, cachedInput: 0.2, cacheWrite: 2.5, output: 12, long: LONG },
      'gpt-5.6-luna': { input: 0.2, cachedInput: 0.02, cacheWrite: 0.25, output: 1.2, long: LONG },
      'gpt-5.5': { input: 5, cachedInput: 0.5, output: 30, long: LONG },
      'gpt-5.4': { input: 2.5, cachedInput: 0.25, output: 15, long: LONG },
      'gpt-5.4-mini': { input: 0.75, cachedInput: 0.075, output: 4.5 },
      'gpt-5.4-nano': { input: 0.2, cachedInput: 0.02, output: 1.25 },
      'gpt-5.2': { input: 1.75, cachedInput: 0.175, output: 14 },
      'gpt-5.1': { input: 1.25, cachedInput: 0.125, output: 10 },
      'gpt-5': { input: 1.25, cachedInput: 0.125, output: 10 },
      'gpt-5-mini': { input: 0.25, cachedInput: 0.025, output: 2 },
      'gpt-5-nano': { input: 0.05, cachedInput: 0.005, output: 0.4 },
      'gpt-4.1': { input: 2, cachedInput: 0.5, output: 8 },
      'gpt-4.1-mini': { input: 0.4, cachedInput: 0.1, output: 1.6 },
      'gpt-4.1-nano': { input: 0.1, cachedInput: 0.025, output: 0.4 },
      'gpt-4o': { input: 2.5, cachedInput: 1.25, output: 10 },
      'gpt-4o-mini': { input: 0.15, cachedInput: 0.075, output: 0.6 },
    },
  },
  {
    source: 'https://platform.claude.com/docs/en/about-claude/pricing',
    asOf: '2026-10-16',
    models: {
      'claude-fable-5-1': { input: 10, cachedInput: 0.25, cacheWrite: 12.5, output: 50 },
      'claude-fable-5': { input: 10, cachedInput: 1, cacheWrite: 12.5, output: 50 },
      'claude-opus-5-5': { input: 4, cachedInput: 0.2, cacheWrite: 5, output: 20 },
      'claude-opus-5': { input: 5, cachedInput: 0.5, cacheWrite: 6.25, output: 25 },
      'claude-opus-4-8': { input: 5, cachedInput: 0.5, cacheWrite: 6.25, output: 25 },
      'claude-opus-4-7': { input: 5, cachedInput: 0.5, cacheWrite: 6.25, output: 25 },
      'claude-opus-4-6': { input: 5, cachedInput: 0.5, cacheWrite: 6.25, output: 25 },
      'claude-opus-4-5': { input: 5, cachedInput: 0.5, cacheWrite: 6.25, output: 25 },
      'claude-sonnet-5-5': { input: 2, cachedInput: 0.1, cacheWrite: 2.5, output: 10 },
      'claude-sonnet-5': { input: 2, cachedInput: 0.2, cacheWrite: 2.5, output: 10 },
      'claude-sonnet-4-6': { input: 3, cachedInput: 0.3, cacheWrite: 3.75, output: 15 },
      'claude-sonnet-4-5': { input: 3, cachedInput: 0.3, cacheWrite: 3.75, output: 15 },
      'claude-haiku-5-5': {
        ...{ input: 0.1, cachedInput: 0.01, cacheWrite: 0.125, output: 0.5 },
        long: { above: 100_000, input: 5, output: 5 },
      },
      'claude-haiku-4-5': { input: 1, cachedInput: 0.1, cacheWrite: 1.25, output: 5 },
    },
  },
];

export type PricedModel = { prices: Prices; source: string };

const SNAPSHOT = /-(?:\d{4}-\d{2}-\d{2}|\d{8})$/;

/**
 * The price of a model: the configured one, else that of the table; a dated snapshot costs what its name costs.
 *
 * @throws InvalidInputError when nobody said what the model costs
 */
export function pricesOf(model: string, configured?: Prices): PricedModel {
  if (configured !== undefined) {
    for (const [name, value] of Object.entries(configured)) {
      if (typeof value === 'number' && !(Number.isFinite(value) && value >= 0)) {
        throw new InvalidInputError(
          `prices.${name}`,
          value,
          'must be dollars per million tokens, 0 or more',
        );
      }
    }
    return { prices: configured, source: 'configuration' };
  }
  for (const { source, asOf, models } of PRICE_LISTS) {
    const prices = models[model] ?? models[model.replace(SNAPSHOT, '')];
    if (prices !== undefined) return { prices, source: `${source}, ${asOf}` };
  }
  throw new InvalidInputError(
    'model',
    model,
    'has no price in the table; set prices: { input, output } in dollars per million tokens (0 for a model of your own)',
  );
}

/** Micro-dollars of a call, rounded up. */
export function costMicros(prices: Prices, usage: WireUsage): number {
  const { input, cachedInput, cacheWrite, output } = usage;
  const { long } = prices;
  const isLong = long !== undefined && input + cachedInput + cacheWrite > long.above;
  const inputs =
    input * prices.input +
    cachedInput * (prices.cachedInput ?? prices.input) +
    cacheWrite * (prices.cacheWrite ?? prices.input);
  const micros =
    inputs * (isLong ? long.input : 1) + output * prices.output * (isLong ? long.output : 1);
  // Prices are decimal fractions; what their sums miss in the last binary place is no micro-dollar.
  return Math.ceil(Math.round(micros * 1e6) / 1e6);
}

/** Micro-dollars a call may cost at most. */
export function mostMicros(prices: Prices, tokens: { input: number; output: number }): number {
  const dearest = Math.max(prices.input, prices.cacheWrite ?? 0);
  const { input, output } = tokens;
  return costMicros(
    { ...prices, input: dearest },
    { input, output, cachedInput: 0, cacheWrite: 0 },
  );
}
