import { z } from 'zod';
import { EndpointError } from './http-errors.ts';
import type { Reranker } from './ports.ts';

export type HttpRerankerOptions = {
  /** The whole address, such as `http://127.0.0.1:8080/rerank`. */
  url: string;
  /** `cohere`: also Jina and vLLM. `tei`: Hugging Face's text-embeddings-inference. */
  shape: 'cohere' | 'tei';
  model: string;
  apiKey?: string;
  /** Milliseconds. Default 10,000. */
  timeoutMs?: number;
};

const cohereAnswer = z.object({
  results: z.array(z.object({ index: z.number().int(), relevance_score: z.number() })),
});
const teiAnswer = z.array(z.object({ index: z.number().int(), score: z.number() }));

type Adapter = {
  body(model: string, question: string, texts: readonly string[]): object;
  scores(answer: unknown): { index: number; score: number }[];
};

const ADAPTERS: Readonly<Record<HttpRerankerOptions['shape'], Adapter>> = {
  cohere: {
    body: (model, query, documents) => ({ model, query, documents, top_n: documents.length }),
    scores: (answer) =>
      cohereAnswer
        .parse(answer)
        .results.map(({ index, relevance_score }) => ({ index, score: relevance_score })),
  },
  tei: {
    body: (_, query, texts) => ({ query, texts, raw_scores: false, truncate: true }),
    scores: (answer) => teiAnswer.parse(answer),
  },
};

/** A cross-encoder behind HTTP `/rerank`. @throws EndpointError when it gives no usable answer */
export function httpReranker(options: HttpRerankerOptions): Reranker {
  const { url, shape, model, apiKey, timeoutMs = 10_000 } = options;
  const adapter = ADAPTERS[shape];
  const what = `reranking by ${model}`;
  return {
    name: `${shape}/${model}`,
    async rerank(question, { candidates }, signal) {
      const texts = candidates.map(({ title, heading, text }) => `${title}\n${heading}\n${text}`);
      const limit = AbortSignal.timeout(timeoutMs);
      let response: Response;
      let answer: unknown;
      try {
        response = await fetch(url, {
          method: 'POST',
          headers: {
            'content-type': 'application/json',
            ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
          },
          body: JSON.stringify(adapter.body(model, question, texts)),
          signal: signal === undefined ? limit : AbortSignal.any([signal, limit]),
        });
        answer = response.ok ? await response.json() : await response.body?.cancel();
      } catch (error) {
        signal?.throwIfAborted();
        throw new EndpointError(what, { detail: 'no answer in time' }, { cause: error });
      }
      const { status } = response;
      if (!response.ok) throw new EndpointError(what, { status, detail: `answered ${status}` });
      return inOrder(what, adapter, answer, texts.length);
    },
  };
}

/** Every candidate has a score, or the answer is not used at all. */
function inOrder(what: string, adapter: Adapter, answer: unknown, count: number): number[] {
  try {
    const scores = new Map(adapter.scores(answer).map(({ index, score }) => [index, score]));
    return Array.from({ length: count }, (_, at) => {
      const score = scores.get(at);
      if (score === undefined) throw new RangeError(`no score for candidate ${at}`);
      return score;
    });
  } catch (error) {
    throw new EndpointError(
      what,
      { status: 422, detail: 'the answer is unreadable' },
      { cause: error },
    );
  }
}
