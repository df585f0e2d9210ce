import { createRequire } from 'node:module';

const load = createRequire(import.meta.url);

/*
 * The SDKs and the tokenizer take half a second and 90 MB to load. Only an agent that has such a model pays for it,
 * when the model is made and before any turn runs.
 */

export function openaiSdk(): Pick<typeof import('openai'), 'OpenAI'> &
  Pick<typeof import('openai/streaming'), 'Stream'> {
  const { OpenAI } = load('openai') as typeof import('openai');
  const { Stream } = load('openai/streaming') as typeof import('openai/streaming');
  return { OpenAI, Stream };
}

export function anthropicSdk(): Pick<typeof import('@anthropic-ai/sdk'), 'Anthropic'> &
  Pick<typeof import('@anthropic-ai/sdk/streaming'), 'Stream'> {
  const { Anthropic } = load('@anthropic-ai/sdk') as typeof import('@anthropic-ai/sdk');
  const { Stream } = load(
    '@anthropic-ai/sdk/streaming',
  ) as typeof import('@anthropic-ai/sdk/streaming');
  return { Anthropic, Stream };
}

export function tokenizer(): Pick<
  typeof import('gpt-tokenizer/encoding/o200k_base'),
  'countTokens'
> {
  return load(
    'gpt-tokenizer/encoding/o200k_base',
  ) as typeof import('gpt-tokenizer/encoding/o200k_base');
}
