import { expect, onTestFinished, test } from 'vitest';
import type { ModelAnswer } from '../../src/loop/index.ts';
import { anthropicModel, openaiModel } from '../../src/models/index.ts';
import { startModelServer, type Behaviour } from '../support/model-server/index.ts';
import { askAsWorker } from './provider-contract.ts';

const settings = { apiKey: 'k', model: 'm', prices: { input: 1, output: 1 } };

async function answers(behaviour: Behaviour, of: 'responses' | 'messages'): Promise<ModelAnswer> {
  const server = await startModelServer(() => behaviour);
  onTestFinished(() => server.close());
  return askAsWorker(
    of === 'messages'
      ? anthropicModel({ ...settings, baseURL: server.origin })
      : openaiModel({ ...settings, baseURL: `${server.origin}/v1` }),
  );
}

const started = [
  { type: 'message_start', message: { model: 'm', usage: { input_tokens: 9, output_tokens: 1 } } },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Your order' } },
];

test.each([
  [{ type: 'overloaded_error', message: 'Overloaded' }, 'overloaded'],
  [{ type: 'rate_limit_error', message: 'slow down' }, 'rate_limited'],
  [{ type: 'api_error', message: 'Internal' }, 'server_error'],
  [{ type: 'invalid_request_error', message: 'prompt is too long' }, 'overflow_mid_generation'],
])('Messages: an error in the middle of a stream is the error it is: %j', async (error, kind) => {
  const events = [...started, { type: 'error', error }];

  expect(await answers({ do: 'events', events }, 'messages')).toMatchObject({ failure: { kind } });
});

test('Messages: a stream that ends before it says why is no answer', async () => {
  expect(await answers({ do: 'events', events: started }, 'messages')).toMatchObject({
    failure: { kind: 'network_failure' },
  });
});

test('Messages: thoughts are no part of the reply', async () => {
  const events = [
    started[0] ?? {},
    { type: 'content_block_start', index: 0, content_block: { type: 'thinking', thinking: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'Rude.' } },
    { type: 'content_block_start', index: 1, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 1, delta: { type: 'text_delta', text: 'Hello.' } },
    { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 4 } },
  ];

  expect(await answers({ do: 'events', events }, 'messages')).toMatchObject({
    proposal: { reply: 'Hello.' },
    usage: { inputTokens: 9, outputTokens: 4 },
  });
});

test.each(['responses', 'messages'] as const)(
  '%s: a server that ignores the wish for a stream is read all the same',
  async (of) => {
    const body =
      of === 'messages'
        ? { content: [{ type: 'text', text: 'Hello.' }], stop_reason: 'end_turn' }
        : {
            status: 'completed',
            output: [{ type: 'message', content: [{ type: 'output_text', text: 'Hello.' }] }],
          };

    expect(await answers({ do: 'body', body }, of)).toMatchObject({
      proposal: { reply: 'Hello.' },
    });
  },
);

test('Responses: items a server names on the way and leaves out at the end count', async () => {
  const item = { type: 'function_call', call_id: 'c', name: 'get_order', arguments: '{}' };
  const events = [
    { type: 'response.output_item.done', item },
    { type: 'response.completed', response: { status: 'completed', output: [] } },
  ];

  expect(await answers({ do: 'events', events }, 'responses')).toMatchObject({
    proposal: { kind: 'tool_calls', calls: [{ id: 'c', tool: 'get_order' }] },
  });
});

test.each([
  [{ type: 'error', code: 'rate_limit_exceeded', message: 'slow down' }, 'rate_limited'],
  [{ type: 'error', code: 'context_length_exceeded', message: '' }, 'overflow_mid_generation'],
  [
    { type: 'response.failed', response: { status: 'failed', error: { code: 'server_error' } } },
    'server_error',
  ],
])('Responses: an error in the middle of a stream is the error it is: %j', async (event, kind) => {
  const events = [{ type: 'response.output_text.delta', delta: 'Your order' }, event];

  expect(await answers({ do: 'events', events }, 'responses')).toMatchObject({ failure: { kind } });
});
