import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { View } from '../../src/loop/index.ts';
import { scriptedModel, type ScriptedAnswer } from '../../src/models/index.ts';
import { httpReranker, type HttpRerankerOptions } from '../../src/retrieval/http-reranker.ts';
import { judgeReranker, supportJudge } from '../../src/retrieval/judge.ts';
import { offlineReranker } from '../../src/retrieval/offline/offline-reranker.ts';
import type { Recall } from '../../src/retrieval/ports.ts';
import { candidate } from './support.ts';

const RECALL: Recall = {
  candidates: [
    candidate({
      chunkId: 'a',
      title: 'Care',
      heading: 'Lamps',
      text: 'Wipe lamps with a dry cloth.',
    }),
    candidate({ chunkId: 'b' }),
  ],
  words: {
    chunks: 2,
    containing: new Map([
      ['item', 1],
      ['return', 1],
    ]),
  },
  costMicros: 0,
};

async function rerankServer(status: number, answer: unknown) {
  const requests: { authorization: string | undefined; body: unknown }[] = [];
  const server = createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (part: string) => {
      text += part;
    });
    request.on('end', () => {
      requests.push({
        authorization: request.headers.authorization,
        body: JSON.parse(text) as unknown,
      });
      response
        .writeHead(status, { 'content-type': 'application/json' })
        .end(JSON.stringify(answer));
    });
  });
  server.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/rerank`;
  const ask = (shape: HttpRerankerOptions['shape']) =>
    httpReranker({ url, shape, model: 'm', apiKey: 'k' }).rerank('How long?', RECALL);
  return { requests, ask };
}

describe('over HTTP', () => {
  test('[S1-20] Cohere, Jina and vLLM: documents go out together, scores come back by index', async () => {
    const { requests, ask } = await rerankServer(200, {
      results: [
        { index: 1, relevance_score: 0.9 },
        { index: 0, relevance_score: 0.1 },
      ],
    });

    expect(await ask('cohere')).toEqual([0.1, 0.9]);
    expect(requests).toMatchObject([
      {
        authorization: 'Bearer k',
        body: {
          ...{ model: 'm', query: 'How long?', top_n: 2 },
          documents: [
            'Care\nLamps\nWipe lamps with a dry cloth.',
            expect.stringContaining('30 days'),
          ],
        },
      },
    ]);
  });

  test('[S1-20] text-embeddings-inference: texts go out together, scores come back by index', async () => {
    const { requests, ask } = await rerankServer(200, [
      { index: 1, score: 0.8 },
      { index: 0, score: 0.2 },
    ]);

    expect(await ask('tei')).toEqual([0.2, 0.8]);
    expect(requests).toMatchObject([{ body: { query: 'How long?', texts: expect.any(Array) } }]);
  });

  test.each<[number, unknown, RegExp]>([
    [503, {}, /answered 503/],
    [200, { results: [{ index: 0, relevance_score: 1 }] }, /unreadable/],
    [200, 'no', /unreadable/],
  ])('an answer of %d with %j is no ranking: it fails', async (status, answer, message) => {
    await expect((await rerankServer(status, answer)).ask('cohere')).rejects.toThrow(message);
  });
});

describe('by a model', () => {
  const judge = (answer: (view: View) => ScriptedAnswer) => {
    return { name: 'test', model: scriptedModel(answer) };
  };
  const saying = (reply: string) => judge(() => ({ kind: 'finish_candidate', reply }));

  test('the judge sees question and passages as messages and no tools, and answers one grade a passage', async () => {
    const views: View[] = [];
    const options = judge((view) => {
      views.push(view);
      return { kind: 'finish_candidate', reply: 'Grades: [0, 0.9]' };
    });

    expect(await judgeReranker(options).rerank('How long?', RECALL)).toEqual([0, 0.9]);
    expect(views[0]?.messages.map(({ text }) => text.split('\n')[0])).toEqual([
      'How long?',
      'Care',
      'Returns',
    ]);
    expect(views[0]?.tools).toEqual([]);
  });

  test.each(['[0.9]', '[0, 2]', 'the second one', '[0, "1"]'])(
    'a judge that answers %s has not judged',
    async (reply) => {
      await expect(judgeReranker(saying(reply)).rerank('q', RECALL)).rejects.toThrow(/judge test/);
    },
  );

  test('asked whether a quotation states a claim, it says yes or no', async () => {
    const usage = { inputTokens: expect.any(Number), outputTokens: expect.any(Number) };

    const yes = await supportJudge(saying('[1]')).supports('claim', 'quote');
    const no = await supportJudge(saying('[0]')).supports('claim', 'quote');

    expect(yes).toMatchObject({ supported: true, usage });
    expect(no).toMatchObject({ supported: false, usage });
  });
});

test('offline: the passage that answers scores above the one that does not', async () => {
  const [care = 0, returns = 0] = await offlineReranker().rerank(
    'Until when can I return an item I did not use?',
    RECALL,
  );

  expect(returns).toBeGreaterThan(care);
});
