import { ExponentialBackoff, handleWhen, retry } from 'cockatiel';
import OpenAI, { APIConnectionError, APIError } from 'openai';
import { digest } from '../loop/index.ts';
import { EndpointError } from './http-errors.ts';
import { normalised } from './offline/word-vectors.ts';
import type { Embedded, Embedder } from './ports.ts';

export type OpenAiEmbedderOptions = {
  /** As the endpoint names it. */
  model: string;
  /** Numbers a vector. Asked of the endpoint when `shorten` is set, else what the model gives. */
  dimension: number;
  /** For models that can give shorter vectors. Default false. */
  shorten?: boolean;
  apiKey: string;
  /** Default: OpenAI's own. */
  baseUrl?: string;
  /** Texts of one call. Default 96. */
  batchSize?: number;
  /** Micro-dollars for a million tokens. Default 0. */
  pricePerMillion?: number;
  /** Milliseconds one try may take. Default 30,000. */
  timeoutMs?: number;
  /** Tries in all. Default 4. */
  attempts?: number;
  /** Milliseconds before the second try, about doubled each time. Default 500. */
  backoffMs?: number;
};

/**
 * An endpoint that speaks OpenAI's embeddings API. A batch that is sent again carries the same `Idempotency-Key`, also by
 * another process. @throws EndpointError
 */
export function openAiEmbedder(options: OpenAiEmbedderOptions): Embedder {
  const { model, dimension, shorten = false, pricePerMillion = 0 } = options;
  const { timeoutMs = 30_000, attempts = 4, backoffMs = 500, batchSize = 96 } = options;
  const client = new OpenAI({
    apiKey: options.apiKey,
    maxRetries: 0,
    ...(options.baseUrl === undefined ? {} : { baseURL: options.baseUrl }),
  });
  const once = async (texts: readonly string[], signal?: AbortSignal): Promise<Embedded> => {
    // Its own time-outs do not cover an answer that stalls half-way.
    const limit = AbortSignal.timeout(timeoutMs);
    const answer = await client.embeddings.create(
      {
        model,
        input: [...texts],
        encoding_format: 'float',
        ...(shorten ? { dimensions: dimension } : {}),
      },
      {
        signal: signal === undefined ? limit : AbortSignal.any([signal, limit]),
        headers: { 'Idempotency-Key': digest('embed', model, String(dimension), ...texts) },
      },
    );
    const tokens = answer.usage?.total_tokens ?? 0;
    const byIndex = new Map(answer.data.map((one) => [one.index, one.embedding]));
    return {
      vectors: texts.map((_, at) => normalised(Float32Array.from(byIndex.get(at) ?? []))),
      tokens,
      costMicros: Math.ceil((tokens * pricePerMillion) / 1_000_000),
    };
  };
  const again = retry(
    handleWhen((error) => error instanceof EndpointError && error.retryable),
    {
      maxAttempts: attempts - 1,
      backoff: new ExponentialBackoff({ initialDelay: backoffMs, maxDelay: 60_000 }),
    },
  );
  const embed = (texts: readonly string[], signal?: AbortSignal): Promise<Embedded> =>
    again.execute(async () => {
      try {
        return await once(texts, signal);
      } catch (error) {
        signal?.throwIfAborted();
        throw problemOf(`embeddings of ${model}`, error);
      }
    }, signal);
  return { model: shorten ? `${model}/${dimension}` : model, dimension, batchSize, embed };
}

function problemOf(what: string, error: unknown): EndpointError {
  if (error instanceof APIConnectionError || !(error instanceof APIError)) {
    return new EndpointError(what, { detail: 'no answer in time' }, { cause: error });
  }
  const status = typeof error.status === 'number' ? error.status : undefined;
  const detail = status === undefined ? 'no answer in time' : `answered ${status}`;
  return new EndpointError(
    what,
    { detail, ...(status === undefined ? {} : { status }) },
    { cause: error },
  );
}
