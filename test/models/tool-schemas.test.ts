import { describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { InvalidInputError } from '../../src/contracts/index.ts';
import { anthropicModel, openaiModel } from '../../src/models/index.ts';
import { defineTool } from '../../src/tools/index.ts';
import { ToolRegistry } from '../../src/tools/registry.ts';
import { startModelServer } from '../support/model-server/index.ts';
import { askAsWorker } from './provider-contract.ts';
import { viewOf } from './views.ts';

function readTool(name: string, input: z.ZodType) {
  return defineTool({
    ...{ name, input, output: z.unknown(), effect: 'read', reversible: true },
    ...{ description: { use: 'Reads.', avoid: 'writing.' }, failureModes: [] },
    ...{ provenance: {}, resource: () => [], authorize: () => undefined },
    run: () => Promise.resolve({}),
  });
}

function toolbox(...tools: ReturnType<typeof readTool>[]) {
  const registry = new ToolRegistry(tools);
  return { find: (name: string) => registry.find(name), descriptions: () => registry.descriptions };
}

const settings = { apiKey: 'k', model: 'gpt-5' };
const strict = openaiModel({ ...settings, strictSchemas: true });
const loose = openaiModel(settings);

describe('tools are looked at before the first call', () => {
  test('what the registry offers fits', () => {
    const order = readTool('get_order', z.object({ id: z.string(), full: z.boolean().optional() }));

    expect(() => loose.checkTools(toolbox(order))).not.toThrow();
    expect(() => strict.checkTools(toolbox(order))).not.toThrow();
  });

  test.each([
    ['a name no provider takes', readTool('get order', z.object({})), /tools\.get order/],
    ['the name of a way to end a turn', readTool('finish', z.object({})), /tools\.finish/],
    [
      'arguments that are no object',
      readTool('odd', z.union([z.object({}), z.string()])),
      /z\.object/,
    ],
  ])('%s is refused', (_what, tool, message) => {
    expect(() => loose.checkTools(toolbox(tool))).toThrow(InvalidInputError);
    expect(() => loose.checkTools(toolbox(tool))).toThrow(message);
  });

  test('a tool the executor does not know is refused', () => {
    const { descriptions } = toolbox(readTool('get_order', z.object({})));

    expect(() => loose.checkTools({ descriptions, find: () => undefined })).toThrow(
      /cannot be run/,
    );
  });

  test.each([
    ['a record', z.object({ tags: z.record(z.string(), z.string()) })],
    [
      'an intersection',
      z.object({
        a: z.intersection(z.object({ b: z.string() }), z.record(z.string(), z.string())),
      }),
    ],
    [
      'an optional property in a union',
      z.object({ a: z.union([z.object({ b: z.string().optional() }), z.string()]) }),
    ],
  ])('%s is refused in strict mode only, with the way out', (_what, input) => {
    const tools = toolbox(readTool('tag', input));

    expect(() => loose.checkTools(tools)).not.toThrow();
    expect(() => strict.checkTools(tools)).toThrow(/set strictSchemas: false/);
  });
});

describe('strict mode', () => {
  const input = z.object({
    id: z.string(),
    note: z.string().optional(),
    parts: z.array(z.object({ sku: z.string(), count: z.number().optional() })).optional(),
    gift: z.string().nullable().optional(),
  });
  const view = viewOf({ tools: new ToolRegistry([readTool('change', input)]).descriptions });

  test('asks for every property, and takes what stands for "left out" out of the arguments again', async () => {
    const given = { id: '7', note: null, parts: [{ sku: 'a', count: null }], gift: null };
    const server = await startModelServer(() => ({
      do: 'answer',
      calls: [{ id: 'c', name: 'change', arguments: given }],
    }));
    onTestFinished(() => server.close());
    const baseURL = `${server.origin}/v1`;
    for (const model of [
      openaiModel({ ...settings, strictSchemas: true, baseURL }),
      openaiModel({ ...settings, strictSchemas: true, baseURL, api: 'chat' }),
      anthropicModel({
        ...{ apiKey: 'k', model: 'claude-opus-5', strictSchemas: true },
        baseURL: server.origin,
      }),
    ]) {
      const answer = await askAsWorker(model, {}, view);

      if (!answer.ok || answer.proposal.kind !== 'tool_calls') throw new Error('no calls');
      const args = answer.proposal.calls[0]?.arguments;
      expect(args).toEqual({ id: '7', parts: [{ sku: 'a' }], gift: null });
      expect(input.safeParse(args).success).toBe(true);
    }
    const [responses] = server.requests;
    const [tool] = (responses?.body['tools'] ?? []) as { strict: boolean; parameters: object }[];
    expect(tool).toMatchObject({
      strict: true,
      parameters: {
        required: ['id', 'note', 'parts', 'gift'],
        additionalProperties: false,
        properties: { note: { anyOf: [{ type: 'string' }, { type: 'null' }] } },
      },
    });
  });

  test('the ways to end a turn stand beside the tools of the agent', async () => {
    const server = await startModelServer(() => ({ do: 'answer', text: 'Hi.' }));
    onTestFinished(() => server.close());
    await askAsWorker(openaiModel({ ...settings, baseURL: `${server.origin}/v1` }), {}, view);

    expect(server.requests[0]?.tools).toEqual([
      ...['change', 'finish', 'ask_customer', 'escalate', 'refuse'],
    ]);
  });
});

test('every setting reaches the endpoint in the words of its API, and none that was not made', async () => {
  const server = await startModelServer(() => ({ do: 'answer', text: 'Hi.' }));
  onTestFinished(() => server.close());
  const baseURL = `${server.origin}/v1`;
  const all = {
    ...{ temperature: 0.2, maxOutputTokens: 321, parallelToolCalls: false },
    prices: { input: 0, output: 0 },
  };
  const openai = { ...settings, ...all, reasoningEffort: 'low', baseURL } as const;
  await askAsWorker(openaiModel(openai));
  await askAsWorker(openaiModel({ ...openai, api: 'chat' }));
  await askAsWorker(anthropicModel({ ...settings, ...all, baseURL: server.origin }));
  await askAsWorker(openaiModel({ ...settings, baseURL, api: 'chat' }));
  const [responses, chat, messages, bare] = server.requests;

  expect(responses?.body).toMatchObject({
    ...{ model: 'gpt-5', temperature: 0.2, max_output_tokens: 321, parallel_tool_calls: false },
    ...{ reasoning: { effort: 'low' }, store: false, stream: true },
  });
  expect(chat?.body).toMatchObject({
    ...{ model: 'gpt-5', temperature: 0.2, max_tokens: 321, parallel_tool_calls: false },
    ...{ reasoning_effort: 'low', stream: true },
  });
  expect(messages?.body).toMatchObject({
    ...{ temperature: 0.2, max_tokens: 321 },
    tool_choice: { type: 'auto', disable_parallel_tool_use: true },
  });
  expect(chat?.headers['authorization']).toBe('Bearer k');
  expect(messages?.headers['authorization']).toBe('Bearer k');
  for (const name of ['temperature', 'reasoning_effort', 'parallel_tool_calls', 'tool_choice']) {
    expect(bare?.body[name]).toBeUndefined();
  }
});
