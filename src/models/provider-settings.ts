import { InvalidInputError } from '../contracts/index.ts';
import type { Prices } from './prices.ts';

/** What every provider is configured by. */
export type ProviderSettings = {
  model: string;
  apiKey: string;
  /** Default: the vendor's own endpoint. */
  baseURL?: string;
  /** Sent as it is; not sent by default. */
  temperature?: number;
  /** Tokens of one answer, thoughts included. Default 8,192. */
  maxOutputTokens?: number;
  /** Whether one answer may hold several calls. Default: as the provider does it. */
  parallelToolCalls?: boolean;
  /** Let the provider hold the model to the schemas of the tools. Default false. */
  strictSchemas?: boolean;
  /** What the model costs, where the table is not right or does not know it. */
  prices?: Prices;
};

/** @throws InvalidInputError naming the setting that cannot be used */
export function refuseUnusable(settings: ProviderSettings & { baseURL: string }): void {
  const { model, apiKey, baseURL, maxOutputTokens, temperature } = settings;
  if (model.trim() === '') throw new InvalidInputError('model', model, 'must name a model');
  if (apiKey.trim() === '') {
    throw new InvalidInputError(
      'apiKey',
      apiKey,
      'must be the key; any word where the server wants none',
    );
  }
  if (!/^https?:$/.test(URL.parse(baseURL)?.protocol ?? '')) {
    throw new InvalidInputError(
      'baseURL',
      baseURL,
      'must be a URL such as http://127.0.0.1:8000/v1',
    );
  }
  if (
    maxOutputTokens !== undefined &&
    !(Number.isInteger(maxOutputTokens) && maxOutputTokens > 0)
  ) {
    throw new InvalidInputError(
      'maxOutputTokens',
      maxOutputTokens,
      'must be a positive whole number',
    );
  }
  if (temperature !== undefined && !(temperature >= 0 && temperature <= 2)) {
    throw new InvalidInputError('temperature', temperature, 'must be from 0 to 2');
  }
}
