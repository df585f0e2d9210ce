import type OpenAI from 'openai';
import type { Stream } from 'openai/streaming';
import type { ProviderSettings } from '../provider-settings.ts';

export type OpenAISettings = ProviderSettings & {
  /** `responses` for OpenAI itself; `chat` for everything that only speaks Chat Completions. Default `responses`. */
  api?: 'responses' | 'chat';
  /** Sent as it is; not sent by default. */
  reasoningEffort?: NonNullable<OpenAI.ReasoningEffort>;
};

/** What a wire of OpenAI's is made of. */
export type OpenAIWiring = {
  client: OpenAI;
  settings: OpenAISettings & { baseURL: string };
  Stream: typeof Stream;
};

export const OPENAI_URL = 'https://api.openai.com/v1';

/** OpenAI itself or Azure, which follow the API to the letter. */
export function isVendor(baseURL: string): boolean {
  return /(?:^|\.)(?:openai\.com|openai\.azure\.com)$/.test(URL.parse(baseURL)?.hostname ?? '');
}
