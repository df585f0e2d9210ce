import { getEventListeners, once } from 'node:events';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setImmediate } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { expect, onTestFinished, test } from 'vitest';
import type { Model } from '../../../src/loop/index.ts';
import { anthropicModel, openaiModel } from '../../../src/models/index.ts';
import { askAsWorker } from '../provider-contract.ts';
import { orderRound, viewOf } from '../views.ts';
import { FAULTS } from './faults.ts';

const CALLS = 500;
const CONCURRENCY = 200;
const SILENCE_MS = 5_000;

test(`${CALLS} calls, ${CONCURRENCY} at a time, a fifth of them faulty: each has its outcome and nothing is left open`, async () => {
  const thread = new Worker(new URL('server-thread.ts', import.meta.url));
  onTestFinished(async () => void (await thread.terminate()));
  const [{ origin }] = (await once(thread, 'message')) as [{ origin: string }];
  const warnings: string[] = [];
  const warned = (warning: Error): void => void warnings.push(warning.name);
  process.on('warning', warned);
  onTestFinished(() => void process.off('warning', warned));
  const settings = { apiKey: 'k', model: 'm', prices: { input: 1, output: 1 } };
  const models: readonly Model[] = [
    openaiModel({ ...settings, baseURL: `${origin}/v1` }),
    openaiModel({ ...settings, baseURL: `${origin}/v1`, api: 'chat' }),
    anthropicModel({ ...settings, baseURL: origin }),
  ];
  const { signal: stop } = new AbortController();
  const outcomes: Record<string, number> = {};
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < CALLS) {
      const number = next;
      next += 1;
      // A worker reads its turn from Redis before it asks.
      await setImmediate();
      const model = models[number % models.length];
      if (model === undefined) throw new Error('there is no such model');
      const view = viewOf({ rounds: [orderRound(1, [String(number)])] });
      model.estimate(view);
      const answer = await askAsWorker(model, { silenceMs: SILENCE_MS, stop }, view);
      const outcome = answer.ok ? 'ok' : answer.failure.kind;
      outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
    }
  };
  const delay = monitorEventLoopDelay({ resolution: 5 });
  delay.enable();

  await Promise.all(Array.from({ length: CONCURRENCY }, work));

  delay.disable();
  thread.postMessage('end');
  const [served] = (await once(thread, 'message')) as [
    { most: number; sockets: number; open: number; requests: number },
  ];
  const p99 = (delay.percentile(99) / 1e6).toFixed(1);
  console.log(JSON.stringify(outcomes));
  console.log(`event-loop delay p99 ${p99} ms; most sockets at a time ${served.most}`);
  const faulty = CALLS / 5 / FAULTS.length;
  expect(outcomes).toEqual({
    ok: CALLS - faulty * FAULTS.length,
    ...{ server_error: faulty, silence: faulty, rate_limited: faulty },
    network_failure: faulty * 2,
  });
  expect(served.requests).toBe(CALLS);
  expect(getEventListeners(stop, 'abort')).toEqual([]);
  expect(warnings).toEqual([]);
  expect(served.open).toBe(0);
  // One for each call at a time; a pool keeps no more than that for the next ones.
  expect(Math.max(served.most, served.sockets)).toBeLessThanOrEqual(CONCURRENCY);
});
