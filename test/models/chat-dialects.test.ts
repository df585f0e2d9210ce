import { describe, expect, onTestFinished, test } from 'vitest';
import type { ModelAnswer } from '../../src/loop/index.ts';
import { openaiModel } from '../../src/models/index.ts';
import { startModelServer, type Behaviour } from '../support/model-server/index.ts';
import { askAsWorker } from './provider-contract.ts';

async function answerTo(behaviour: Behaviour, silenceMs = 10_000): Promise<ModelAnswer> {
  const server = await startModelServer(() => behaviour);
  onTestFinished(() => server.close());
  const prices = { input: 1, output: 1 };
  const settings = { apiKey: 'none', model: 'local', api: 'chat', prices } as const;
  return askAsWorker(openaiModel({ ...settings, baseURL: `${server.origin}/v1` }), { silenceMs });
}

function streamed(
  deltas: readonly object[],
  finish: string | null,
  tail: readonly string[] = ['[DONE]'],
) {
  const chunk = (delta: object, finish_reason: string | null) => ({
    choices: [{ index: 0, delta, finish_reason }],
  });
  return answerTo({
    do: 'events',
    events: [...deltas.map((delta) => chunk(delta, null)), chunk({}, finish), ...tail],
  });
}

function whole(message: object, finish: string | null = 'stop', more: object = {}) {
  return answerTo({
    do: 'body',
    body: { choices: [{ index: 0, message, finish_reason: finish }], ...more },
  });
}

const toolCall = (changes: object = {}) => ({
  id: 'c1',
  type: 'function',
  function: { name: 'get_order', arguments: '{"orderId":"7"}' },
  ...changes,
});

function callsOf(
  answer: ModelAnswer,
): readonly { id: string; tool: string; arguments?: unknown }[] {
  if (!answer.ok || answer.proposal.kind !== 'tool_calls') throw new Error(JSON.stringify(answer));
  return answer.proposal.calls;
}

describe('what compatible servers make of an answer', () => {
  test.each(['stop', 'eos', null])('calls count when the reason is %s', async (reason) => {
    expect(callsOf(await whole({ tool_calls: [toolCall()] }, reason))).toHaveLength(1);
  });

  test('a server that ignores the wish for a stream is read all the same', async () => {
    expect(await whole({ content: 'Hello.' })).toMatchObject({
      ok: true,
      proposal: { reply: 'Hello.' },
    });
  });

  test('an id that is missing, empty, repeated or absurd gets a name of its own', async () => {
    const ids = [undefined, '', 'same', 'same', 'x'.repeat(500), 'a b\n', 7];
    const answer = await whole({ tool_calls: ids.map((id) => toolCall({ id })) });

    const named = callsOf(answer).map(({ id }) => id);
    expect(named[2]).toBe('same');
    expect(new Set(named).size).toBe(ids.length);
    expect(named.every((id) => /^[\w.:-]{1,128}$/.test(id))).toBe(true);
  });

  test('arguments may come as an object, or not at all where there are none', async () => {
    const answer = await whole({
      content: null,
      tool_calls: [
        toolCall({ function: { name: 'get_order', arguments: { orderId: '7' } } }),
        toolCall({ function: { name: 'list_orders', arguments: '' } }),
        toolCall({ function: { name: 'list_orders' } }),
      ],
    });

    expect(callsOf(answer).map((call) => call.arguments)).toEqual([{ orderId: '7' }, {}, {}]);
  });

  test.each([
    '{"orderId":"7"',
    '{orderId: 7}',
    '```json\n{"orderId":"7"}\n```',
    '"{}"',
    '[1]',
    'null',
  ])('arguments that are no JSON object are not repaired: %s', async (text) => {
    const call = toolCall({ function: { name: 'issue_refund', arguments: text } });

    expect(await whole({ tool_calls: [call] })).toMatchObject({
      ok: false,
      failure: { kind: 'invalid_proposal', detail: 'the arguments of call 1 are not JSON' },
    });
  });

  test.each([
    ['no choices', { choices: [] }],
    ['no list of choices', { id: 'x' }],
    ['a choice without a message', { choices: [{ index: 0, finish_reason: 'stop' }] }],
    ['a message without content', { choices: [{ message: { role: 'assistant' } }] }],
    ['content null and no calls', { choices: [{ message: { content: null, tool_calls: [] } }] }],
  ])('an answer with %s is empty, not a crash', async (_what, body) => {
    expect(await answerTo({ do: 'body', body })).toMatchObject({
      ok: false,
      failure: { kind: 'empty_reply' },
    });
  });

  test('a withheld answer without content is told apart from an empty one', async () => {
    expect(await whole({ role: 'assistant' }, 'content_filter')).toMatchObject({
      failure: { kind: 'content_filter' },
    });
  });

  test('of several choices the first one is read, whatever their order', async () => {
    const choice = (index: number, content: string) => ({
      ...{ index, message: { content }, finish_reason: 'stop' },
    });
    const answer = await answerTo({
      do: 'body',
      body: { choices: [choice(1, 'Second'), choice(0, 'First')] },
    });

    expect(answer).toMatchObject({ proposal: { reply: 'First' } });
  });

  test('content in parts is read without the thoughts among them', async () => {
    const content = [
      { type: 'thinking', text: 'They are rude.' },
      { type: 'text', text: 'Hello' },
      { type: 'text', text: ' there.' },
    ];

    expect(await whole({ content })).toMatchObject({ proposal: { reply: 'Hello there.' } });
  });

  test('thoughts left in the text never reach the customer', async () => {
    expect(await whole({ content: '<think>Rude.</think>\n\nHello.' })).toMatchObject({
      proposal: { reply: 'Hello.' },
    });
    expect(await whole({ content: '<think>Rude, and' })).toMatchObject({
      failure: { kind: 'empty_reply' },
    });
  });

  test.each([
    '<tool_call>{"name":"issue_refund","arguments":{}}</tool_call>',
    '[TOOL_CALLS][{"name":"issue_refund"}]',
    '<|python_tag|>issue_refund(1)',
  ])('a call written as text is neither run nor sent: %s', async (content) => {
    expect(await whole({ content })).toMatchObject({ failure: { kind: 'invalid_proposal' } });
  });

  test('a promise of calls without any is not sent as the reply', async () => {
    expect(await whole({ content: 'Let me look that up.' }, 'tool_calls')).toMatchObject({
      failure: { kind: 'invalid_proposal' },
    });
  });

  test('the old form of a call is understood', async () => {
    const old = { function_call: { name: 'get_order', arguments: '{"orderId":"7"}' } };

    expect(callsOf(await whole(old, 'function_call'))[0]).toMatchObject({ tool: 'get_order' });
  });

  test('an error inside a 200 is the error it is', async () => {
    const busy = { error: { code: 429, message: 'Rate limit exceeded' } };
    expect(await answerTo({ do: 'body', body: busy })).toMatchObject({
      failure: { kind: 'rate_limited' },
    });
    const stream = [{ choices: [{ index: 0, delta: { content: 'The' } }] }];
    const full = { error: { code: 400, type: 'exceed_context_size_error', message: 'too big' } };
    expect(await answerTo({ do: 'events', events: [...stream, full] })).toMatchObject({
      failure: { kind: 'overflow_mid_generation' },
    });
  });

  test('a server that does not count is counted for, and never free of charge', async () => {
    const answer = await whole({ content: 'Hello there, Ana.' });

    if (!answer.ok) throw new Error('no answer');
    expect(answer.usage.inputTokens).toBeGreaterThan(100);
    expect(answer.usage.outputTokens).toBeGreaterThan(3);
    expect(answer.usage.costMicros).toBe(answer.usage.inputTokens + answer.usage.outputTokens);
  });

  test('thoughts that are only in the total are paid for', async () => {
    const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 115 };

    expect(await whole({ content: 'Hi.' }, 'stop', { usage })).toMatchObject({
      usage: { inputTokens: 10, outputTokens: 105 },
    });
  });
});

describe('what compatible servers make of a stream', () => {
  const part = (changes: object, name?: string, args?: string | object) => ({
    tool_calls: [
      { ...changes, function: { ...(name && { name }), ...(args && { arguments: args }) } },
    ],
  });

  test.each([
    [
      'an index and an id once',
      [
        part({ index: 0, id: 'a' }, 'get_order', '{"orderId"'),
        part({ index: 0 }, undefined, ':"7"}'),
        part({ index: 1, id: 'b' }, 'get_order', '{"orderId":"8"}'),
      ],
    ],
    [
      'no index',
      [
        part({ id: 'a' }, 'get_order', '{"orderId"'),
        part({ id: 'a' }, undefined, ':"7"}'),
        part({ id: 'b' }, 'get_order', '{"orderId":"8"}'),
      ],
    ],
    [
      'the same index for every call',
      [
        part({ index: 0, id: 'a' }, 'get_order', '{"orderId":"7"}'),
        part({ index: 0, id: 'b' }, 'get_order', '{"orderId":"8"}'),
      ],
    ],
    [
      'id and name repeated in every part',
      [
        part({ index: 0, id: 'a' }, 'get_order', '{"orderId"'),
        part({ index: 0, id: 'a' }, 'get_order', ':"7"}'),
        part({ index: 1, id: 'b' }, 'get_order', '{"orderId":"8"}'),
      ],
    ],
    [
      'neither index nor id',
      [part({}, 'get_order', '{"orderId":"7"}'), part({}, 'get_order', { orderId: '8' })],
    ],
    [
      'empty ids in later parts',
      [
        part({ index: 0, id: 'a' }, 'get_order', '{"orderId"'),
        part({ index: 0, id: '' }, '', ':"7"}'),
        part({ index: 1, id: 'b' }, 'get_order', '{"orderId":"8"}'),
      ],
    ],
  ])('calls with %s are put together', async (_what, deltas) => {
    const calls = callsOf(await streamed(deltas, 'tool_calls'));

    expect(calls.map((call) => call.arguments)).toEqual([{ orderId: '7' }, { orderId: '8' }]);
    expect(new Set(calls.map(({ id }) => id)).size).toBe(2);
  });

  test('a first chunk without choices and a last one with the count are no answers', async () => {
    const answer = await answerTo({
      do: 'events',
      events: [
        { choices: [], prompt_filter_results: [] },
        { choices: [{ index: 0, delta: { content: 'Hi.' }, finish_reason: 'stop' }] },
        { choices: [], usage: { prompt_tokens: 12, completion_tokens: 3 } },
        '[DONE]',
      ],
    });

    expect(answer).toMatchObject({ proposal: { reply: 'Hi.' }, usage: { inputTokens: 12 } });
  });

  test('without a reason the mark of the end makes a stream whole', async () => {
    expect(await streamed([{ content: 'Hi.' }], null)).toMatchObject({ ok: true });
  });

  test('a stream that ends politely but early is not taken for an answer', async () => {
    expect(await streamed([{ content: 'Your order 7 has not' }], null, [])).toMatchObject({
      failure: { kind: 'network_failure' },
    });
  });

  test('a connection that is cut after the reason has said all', async () => {
    const answer = await streamed([{ content: 'Hi.' }], 'stop', []);

    expect(answer).toMatchObject({ ok: true, proposal: { reply: 'Hi.' } });
  });

  test('an event that is no JSON is a fault of the server', async () => {
    expect(await answerTo({ do: 'events', events: ['{"choices": [{'] })).toMatchObject({
      failure: { kind: 'server_error', detail: 'the stream is not JSON' },
    });
  });

  test('an answer that takes long but never stops talking is not silent', async () => {
    const text = 'and so on '.repeat(14);
    const answer = await answerTo({ do: 'answer', text, paceMs: 40 }, 400);

    expect(answer).toMatchObject({ ok: true, proposal: { reply: text.trim() } });
  });
});
