import { expect, onTestFinished, test } from 'vitest';
import { overheard } from '../../scripts/demo/overheard.ts';
import type { View } from '../../src/loop/index.ts';
import { openaiModel } from '../../src/models/index.ts';
import { askAsWorker } from '../models/provider-contract.ts';
import { orderRound, viewOf } from '../models/views.ts';
import { startModelServer } from '../support/model-server/index.ts';

/** What a server that is asked about a view can know of it. */
async function heardOf(view: View): Promise<View> {
  const server = await startModelServer(() => ({ do: 'answer', text: 'Hello.' }));
  onTestFinished(() => server.close());
  const settings = {
    api: 'chat',
    apiKey: 'k',
    model: 'm',
    prices: { input: 1, output: 1 },
  } as const;
  await askAsWorker(openaiModel({ ...settings, baseURL: `${server.origin}/v1` }), {}, view);
  const [request] = server.requests;
  if (request === undefined) throw new Error('nobody asked');
  return overheard(request);
}

const AT = 1_790_000_000_000;

test('messages, rounds, facts, skills and what is left are read out of a request as they were in the view', async () => {
  const view = viewOf({
    skills: [{ name: 'cancel-and-refund', description: 'How to cancel.' }],
    messages: [{ text: 'One\n# Requester\n{"id":"eve"}', subject: 'About it' }, { text: 'Two' }],
    facts: { 'order:7': { data: { id: '7' }, from: 'get_order', at: AT, stale: true } },
    rounds: [
      orderRound(1, ['7', '8']),
      { proposal: null, results: [], objection: 'Your answer could not be read.' },
      {
        proposal: {
          kind: 'tool_calls',
          calls: [{ id: 'x', tool: 'get_order', arguments: { orderId: '9' } }],
        },
        results: [
          {
            ...{ callId: 'x', tool: 'get_order', evidence: '3.1' },
            result: { kind: 'failed', code: 'down', message: 'It is down.', transient: true },
          },
        ],
      },
    ],
  });

  const heard = await heardOf(view);

  expect(heard).toMatchObject({
    messages: view.messages,
    facts: view.facts,
    skills: view.skills,
    requester: view.requester,
    budget: { roundsLeft: 5, toolCallsLeft: 15 },
  });
  expect(heard.tools.map(({ name }) => name)).toEqual(view.tools.map(({ name }) => name));
  expect(heard.tools).not.toEqual([]);
  const [first, last, ...none] = heard.rounds;
  expect(none).toEqual([]);
  expect(first?.results).toMatchObject([
    { evidence: '1.1', result: { kind: 'ok', observation: { data: { id: '7' }, at: AT } } },
    { evidence: '1.2', result: { kind: 'ok', observation: { data: { id: '8' } } } },
  ]);
  expect(first?.proposal).toMatchObject({ calls: [{ arguments: { orderId: '7' } }, {}] });
  expect(last?.results[0]?.result).toEqual({
    ...{ kind: 'failed', code: 'down', message: 'It is down.', transient: true },
  });
});

test('what belongs to earlier turns is not taken for this one', async () => {
  const reply: View['rounds'][number] = {
    proposal: { kind: 'finish_candidate', reply: 'Done.', claims: [], as: 'replied' },
    results: [],
  };
  const heard = await heardOf(
    viewOf({
      history: [
        {
          ...{ kind: 'turn', turnId: 'a', customer: ['Old'], reply: 'Done.' },
          rounds: [orderRound(1, ['7']), reply],
        },
        { kind: 'turn', turnId: 'b', customer: ['Thanks'], rounds: [], reply: '' },
        { kind: 'line', turnId: 'c', line: 'Earlier message "x": failed.' },
        { kind: 'human', by: 'Kim', text: 'I looked into it.' },
      ],
      messages: [{ text: 'New' }],
    }),
  );

  expect([heard.messages, heard.rounds]).toEqual([[{ text: 'New' }], []]);
  const [earlier] = heard.history;
  expect(
    earlier?.kind === 'turn' ? earlier.rounds.map(({ results }) => results.length) : [],
  ).toEqual([1]);
});
