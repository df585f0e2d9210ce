import { describe, expect, test } from 'vitest';
import { openAiEmbedder } from '../../src/retrieval/openai-embedder.ts';
import { embeddingServer, type Fault } from './embedding-server.ts';

async function embedding(
  faults: Fault[] = [],
  options: Partial<Parameters<typeof openAiEmbedder>[0]> = {},
) {
  const server = await embeddingServer();
  server.faults.push(...faults);
  const embedder = openAiEmbedder({
    ...{ model: 'm', dimension: 8, apiKey: 'key', baseUrl: server.baseUrl, backoffMs: 1 },
    ...{ pricePerMillion: 20_000, ...options },
  });
  return { ...server, embedder };
}

describe('embeddings endpoint', () => {
  test('[S1-19] one request a batch; vectors come back in the order of the texts, at length one, with tokens and cost', async () => {
    const { embedder, requests } = await embedding();

    const { vectors, tokens, costMicros } = await embedder.embed(['red lamp', 'blue mug']);

    expect(requests).toMatchObject([
      { authorization: 'Bearer key', body: { model: 'm', input: ['red lamp', 'blue mug'] } },
    ]);
    const [alone] = (await embedder.embed(['blue mug'])).vectors;
    expect(vectors[1]).toEqual(alone);
    expect(Math.hypot(...(vectors[0] ?? []))).toBeCloseTo(1);
    expect({ tokens, costMicros }).toEqual({ tokens: 20, costMicros: 1 });
  });

  test.each<Fault>(['drop', 429, 500, 503])(
    'after %s the same batch is sent again with the same key',
    async (fault) => {
      const { embedder, requests, computed } = await embedding([fault]);

      await embedder.embed(['red lamp']);

      expect(requests).toHaveLength(2);
      expect(requests[0]?.key).toBe(requests[1]?.key);
      expect(requests[0]?.key).not.toBe('undefined');
      expect(computed.get('red lamp')).toBe(1);
    },
  );

  test('what trying again cannot help is not tried again, and the answer is not repeated in the error', async () => {
    const { embedder, requests } = await embedding([401]);

    await expect(embedder.embed(['x'])).rejects.toThrow('embeddings of m: answered 401');
    expect(requests).toHaveLength(1);
  });

  test('an endpoint that stays silent is given up after its tries', async () => {
    const { embedder, requests } = await embedding(['stall', 'stall'], {
      attempts: 2,
      timeoutMs: 50,
    });

    await expect(embedder.embed(['x'])).rejects.toMatchObject({
      code: 'endpoint_failed',
      retryable: true,
    });
    expect(requests).toHaveLength(2);
  });

  test('a caller who stops waiting ends the request at once', async () => {
    const { embedder } = await embedding(['stall']);
    const abort = new AbortController();

    const asked = embedder.embed(['x'], abort.signal);
    abort.abort(new Error('enough'));

    await expect(asked).rejects.toThrow('enough');
  });

  test('a shortened vector is another model than the whole one', async () => {
    const { embedder, requests } = await embedding([], { shorten: true });
    await embedder.embed(['x']);

    expect(embedder.model).toBe('m/8');
    expect(requests[0]?.body.dimensions).toBe(8);
  });
});
