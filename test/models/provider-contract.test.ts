import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { Model } from '../../src/loop/index.ts';
import {
  anthropicModel,
  openaiModel,
  recording,
  replayModel,
  scriptedModel,
  type ScriptedAnswer,
} from '../../src/models/index.ts';
import { startModelServer } from '../support/model-server/index.ts';
import {
  askAsWorker,
  MOST_TOKENS,
  providerContract,
  type ContractCase,
  type Provider,
} from './provider-contract.ts';

const common = {
  apiKey: 'sk-test-0123456789abcdef',
  maxOutputTokens: MOST_TOKENS,
  prices: { input: 2, output: 8 },
};

async function origin(one: ContractCase): Promise<string> {
  const server = await startModelServer(({ api }) => one.endpoint(api));
  onTestFinished(() => server.close());
  return server.origin;
}

async function openai(api: 'chat' | 'responses', one: ContractCase): Promise<Model> {
  return openaiModel({ ...common, model: 'gpt-test', api, baseURL: `${await origin(one)}/v1` });
}

const PROVIDERS: readonly Provider[] = [
  { name: 'openai-responses', model: (one) => openai('responses', one) },
  { name: 'openai-chat', model: (one) => openai('chat', one) },
  {
    name: 'anthropic',
    model: async (one) =>
      anthropicModel({ ...common, model: 'claude-test', baseURL: await origin(one) }),
  },
  {
    name: 'scripted',
    model: ({ means }) => Promise.resolve(scriptedModel(() => scriptedAnswer(means))),
  },
  {
    name: 'replay',
    async model(one) {
      const directory = mkdtempSync(join(tmpdir(), 'turnkeeper-replay-'));
      onTestFinished(() => rmSync(directory, { recursive: true }));
      const file = join(directory, 'recording.jsonl');
      await askAsWorker(recording(await openai('chat', one), file), one.limits);
      return replayModel(file);
    },
  },
];

PROVIDERS.forEach(providerContract);

test('[S3-36] every provider there is, one folder each, has to keep the contract', () => {
  const folders = readdirSync(join(import.meta.dirname, '../../src/models'), {
    withFileTypes: true,
  }).flatMap((entry) => (entry.isDirectory() ? [entry.name] : []));

  const tested = new Set(PROVIDERS.map(({ name }) => name.split('-')[0]));
  expect([...tested].toSorted()).toEqual(folders.toSorted());
});

function scriptedAnswer(means: ContractCase['means']): ScriptedAnswer | Promise<ScriptedAnswer> {
  if ('proposal' in means) return means.proposal;
  const { failure: kind, detail, waits, by } = means;
  if (by === 'never') return new Promise(() => {});
  const told = detail === undefined ? {} : { detail };
  const retryAt = waits === true ? { retryAt: Date.now() + 7_000 } : {};
  return { kind: 'fails', failure: { kind, ...told, ...retryAt } };
}
