import { describe, expect, onTestFinished, test } from 'vitest';
import type { ModelFailureKind } from '../../src/contracts/index.ts';
import type { Model } from '../../src/loop/index.ts';
import {
  EndpointBreaker,
  openaiModel,
  providersOf,
  scriptedModel,
  withBreaker,
  withFallback,
  type ScriptedAnswer,
} from '../../src/models/index.ts';
import { fault, startModelServer, type Behaviour } from '../support/model-server/index.ts';
import { askAsWorker } from './provider-contract.ts';
import { viewOf } from './views.ts';

const prices = { input: 1, output: 1 };

async function endpoint(behave: (number: number) => Behaviour) {
  const server = await startModelServer(({ number }) => behave(number));
  onTestFinished(() => server.close());
  const settings = { apiKey: 'k', model: 'm', prices, baseURL: `${server.origin}/v1` };
  return { server, model: openaiModel({ ...settings, api: 'chat' }) };
}

async function kindOf(model: Model): Promise<ModelFailureKind | 'ok'> {
  const answer = await askAsWorker(model);
  return answer.ok ? 'ok' : answer.failure.kind;
}

describe('an endpoint that fails too often gets a rest', () => {
  test('is not asked any more, and the turn is told when to come back', async () => {
    const { server, model } = await endpoint(() => fault('error', 'chat'));
    const rested = withBreaker(model, new EndpointBreaker({ restMs: 60_000 }));
    const before = Date.now();
    for (let call = 0; call < 5; call += 1) expect(await kindOf(rested)).toBe('server_error');

    const answer = await askAsWorker(rested);

    expect(server.requests).toHaveLength(5);
    expect(answer).toMatchObject({ ok: false, failure: { kind: 'unavailable' } });
    const retryAt = answer.ok ? 0 : (answer.failure.retryAt ?? 0);
    expect(retryAt).toBeGreaterThanOrEqual(before + 60_000);
    expect(retryAt).toBeLessThanOrEqual(Date.now() + 60_000);
  });

  test('one call tries it after the rest while the others do not wait; a good answer opens it for all', async () => {
    const gate = Promise.withResolvers<void>();
    const asked = Promise.withResolvers<void>();
    let failing = true;
    const model = scriptedModel(async (): Promise<ScriptedAnswer> => {
      if (failing) return { kind: 'fails', failure: { kind: 'network_failure' } };
      asked.resolve();
      await gate.promise;
      return { kind: 'refuse', reply: 'No.' };
    });
    const rested = withBreaker(model, new EndpointBreaker({ restMs: 0 }));
    for (let call = 0; call < 5; call += 1) await kindOf(rested);
    failing = false;

    const trial = kindOf(rested);
    await asked.promise;
    expect(await kindOf(rested)).toBe('unavailable');
    gate.resolve();

    expect(await trial).toBe('ok');
    expect(await kindOf(rested)).toBe('ok');
  });

  test.each<ModelFailureKind>([
    'max_tokens',
    'refusal',
    'rate_limited',
    'context_overflow',
    'aborted',
  ])('%s says nothing about the endpoint', async (kind) => {
    const rested = withBreaker(
      scriptedModel(() => ({ kind: 'fails', failure: { kind } })),
      new EndpointBreaker({ restMs: 60_000 }),
    );
    for (let call = 0; call < 30; call += 1) expect(await kindOf(rested)).toBe(kind);
  });

  test('a fifth of bad answers is no reason to stop asking', async () => {
    let number = 0;
    const rested = withBreaker(
      scriptedModel((): ScriptedAnswer => {
        number += 1;
        return number % 5 === 0
          ? { kind: 'fails', failure: { kind: 'server_error' } }
          : { kind: 'refuse', reply: 'No.' };
      }),
    );
    for (let call = 0; call < 60; call += 1) expect(await kindOf(rested)).not.toBe('unavailable');
  });

  test('models behind the same endpoint share its rest, others do not', async () => {
    const shared = new EndpointBreaker({ restMs: 60_000 });
    const bad = withBreaker(
      scriptedModel(() => ({ kind: 'fails', failure: { kind: 'overloaded' } })),
      shared,
    );
    const good = scriptedModel(() => ({ kind: 'refuse', reply: 'No.' }));
    for (let call = 0; call < 5; call += 1) await kindOf(bad);

    expect(await kindOf(withBreaker(good, shared))).toBe('unavailable');
    expect(await kindOf(withBreaker(good))).toBe('ok');
  });
});

describe('one other model helps out', () => {
  const failing = (kind: ModelFailureKind, retryAt?: number): Model =>
    scriptedModel(() => ({
      kind: 'fails',
      failure: { kind, ...(retryAt === undefined ? {} : { retryAt }) },
    }));

  test('in the same call, and the answer names it', async () => {
    const first = await endpoint(() => fault('overloaded', 'chat'));
    const second = await endpoint(() => ({ do: 'answer', text: 'Hello.' }));
    const named = openaiModel({
      ...{ apiKey: 'k', model: 'the-other', prices, api: 'chat' },
      baseURL: `${second.server.origin}/v1`,
    });

    expect(await askAsWorker(withFallback(first.model, named))).toMatchObject({
      ok: true,
      model: 'the-other',
      proposal: { reply: 'Hello.' },
    });
  });

  test.each<ModelFailureKind>([
    'refusal',
    'max_tokens',
    'context_overflow',
    'invalid_proposal',
    'timeout',
  ])('not after %s: it would be asked in vain, or too late', async (kind) => {
    let asked = false;
    const second = scriptedModel(() => {
      asked = true;
      return { kind: 'refuse', reply: 'No.' };
    });

    expect(await kindOf(withFallback(failing(kind), second))).toBe(kind);
    expect(asked).toBe(false);
  });

  test('when both fail the turn comes back as soon as one of them allows it', async () => {
    const both = withFallback(failing('rate_limited', 9_000), failing('overloaded', 5_000));

    expect(await askAsWorker(both)).toEqual({
      ok: false,
      failure: { kind: 'rate_limited', retryAt: 5_000 },
    });
  });

  test('what the other model says for good is what counts', async () => {
    expect(await kindOf(withFallback(failing('server_error'), failing('refusal')))).toBe('refusal');
  });

  test('more is reserved than the dearer of the two may use', () => {
    const cheap = openaiModel({ apiKey: 'k', model: 'gpt-5-nano', maxOutputTokens: 5_000 });
    const dear = openaiModel({ apiKey: 'k', model: 'gpt-5.5', maxOutputTokens: 1_000 });
    const reserved = withFallback(cheap, dear).estimate(viewOf());

    expect(reserved.tokens).toBe(cheap.estimate(viewOf()).tokens);
    expect(reserved.costMicros).toBe(dear.estimate(viewOf()).costMicros);
  });

  test('the endpoints behind it all are still known', () => {
    const model = openaiModel({ apiKey: 'k', model: 'gpt-5' });
    const other = openaiModel({ apiKey: 'k', model: 'gpt-5.5' });
    const all = withFallback(withBreaker(model), withBreaker(other));

    expect(providersOf(all).map(({ modelName }) => modelName)).toEqual(['gpt-5', 'gpt-5.5']);
    expect(providersOf(scriptedModel(() => ({ kind: 'refuse', reply: '' })))).toEqual([]);
  });
});
