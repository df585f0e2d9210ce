import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { CallLimits } from '../../src/loop/index.ts';
import { openaiModel, scriptedModel } from '../../src/models/index.ts';
import { fault, startModelServer, type Behaviour } from '../support/model-server/index.ts';
import { askAsWorker } from './provider-contract.ts';
import { viewOf } from './views.ts';

const HELLO: Behaviour = { do: 'answer', text: 'Hello.' };

const modelAt = (origin: string) =>
  openaiModel({
    ...{ apiKey: 'k', model: 'm', api: 'chat', prices: { input: 1, output: 1 } },
    baseURL: `${origin}/v1`,
  });

/** An endpoint that turns the first requests away with these words about when to come back. */
async function busy(times: number, headers: Record<string, string>) {
  const server = await startModelServer(({ api, number }) =>
    number < times ? fault('rate', api, headers) : HELLO,
  );
  onTestFinished(() => server.close());
  const model = modelAt(server.origin);
  const ask = async (limits: Partial<CallLimits> = {}) => {
    const answer = await askAsWorker(model, limits);
    return answer.ok ? 'ok' : answer.failure.kind;
  };
  return { server, ask };
}

// What is loaded at the first call is no part of the waits that are measured.
beforeAll(async () => {
  const server = await startModelServer(() => HELLO);
  const model = modelAt(server.origin);
  model.estimate(viewOf());
  await askAsWorker(model, {});
  await server.close();
});

describe('a moment to come back to that is near', () => {
  test('is waited for inside the call, and the wait counts as no silence', async () => {
    const { server, ask } = await busy(1, { 'retry-after-ms': '900' });
    const startedAt = performance.now();

    expect(await ask({ silenceMs: 800 })).toBe('ok');
    expect(server.requests).toHaveLength(2);
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(895);
  });

  test('is waited for twice and no more', async () => {
    const { server, ask } = await busy(9, { 'retry-after-ms': '1' });

    expect(await ask()).toBe('rate_limited');
    expect(server.requests).toHaveLength(3);
  });

  test.each([
    ['further than a second away', { 'retry-after-ms': '1500' }, {}],
    ['beyond the time of the call', { 'retry-after-ms': '999' }, { timeoutMs: 998 }],
    ['unknown', {}, {}],
  ])('is not waited for when it is %s', async (_where, headers, limits) => {
    const { server, ask } = await busy(1, headers);

    // Whoever waits is answered or runs out of time.
    expect(await ask(limits)).toBe('rate_limited');
    expect(server.requests).toHaveLength(1);
  });

  test('is not waited for once the turn is stopped', async () => {
    const { server, ask } = await busy(1, { 'retry-after': '1' });
    const stop = new AbortController();
    const asked = ask({ stop: stop.signal });
    await expect.poll(() => server.requests.length).toBe(1);
    await expect.poll(() => server.open()).toBe(0);

    stop.abort();

    expect(await asked).toBe('aborted');
    expect(server.requests).toHaveLength(1);
  });

  test('leaves the second request only what is left of the time of the call', async () => {
    const left: number[] = [];
    const scripted = scriptedModel(() => ({
      kind: 'fails',
      failure: { kind: 'overloaded', retryAt: Date.now() + 100 },
    }));

    await askAsWorker(
      {
        ...scripted,
        ask(view, call) {
          left.push(call.timeoutMs);
          return scripted.ask(view, call);
        },
      },
      { timeoutMs: 10_000 },
    );

    expect(left).toHaveLength(3);
    expect(left[0]).toBe(10_000);
    expect(left[2]).toBeLessThanOrEqual(9_802);
  });

  test('is left to the turn when the answer had begun and was paid for', async () => {
    const usage = { inputTokens: 9, outputTokens: 1, costMicros: 1 };
    let asked = 0;
    const answer = await askAsWorker({
      estimate: () => ({ tokens: 1, costMicros: 1 }),
      ask() {
        asked += 1;
        const failure = { kind: 'overloaded', retryAt: Date.now() } as const;
        return Promise.resolve({ ok: false, failure, usage });
      },
    });

    expect([asked, answer.usage]).toEqual([1, usage]);
  });
});
