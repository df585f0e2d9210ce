import { describe, expect, test } from 'vitest';
import { modelClient } from '../../src/calls/index.ts';
import type { ModelFailureKind, ProposalInput } from '../../src/contracts/index.ts';
import type { CallLimits, Model, ModelAnswer } from '../../src/loop/index.ts';
import { fault, type Api, type Behaviour, type FaultName } from '../support/model-server/index.ts';
import { viewOf } from './views.ts';

/** Tokens of an answer that the models of the suite may write. */
export const MOST_TOKENS = 64;

export type ContractCase = {
  title: string;
  /** What the endpoint does, in the words of the API. */
  endpoint(api: Api): Behaviour;
  /** What is proposed, or how the call fails. `never`: there is no answer by itself. */
  means:
    | { proposal: ProposalInput }
    | { failure: ModelFailureKind; detail?: string; waits?: true; by?: 'never' };
  limits?: Partial<CallLimits>;
};

const said = (text: string): Behaviour => ({ do: 'answer', text });
const fails = (failure: ModelFailureKind): ContractCase['means'] => ({ failure });
const ORDER = { orderId: '7' };
const CUT_CALL = { name: 'issue_refund', arguments: '{"orderId":"7","amount":1' };
const FULL = { input: 100, output: MOST_TOKENS };

function turnedAway(
  title: string,
  name: FaultName,
  failure: ModelFailureKind,
  more: { waits?: true } = {},
): ContractCase {
  return { title, endpoint: (api) => fault(name, api), means: { failure, ...more } };
}

/** What every provider makes of every way a call can come out. One more provider: it passes these. */
export const CASES: readonly ContractCase[] = [
  {
    title: '[S3-35] a reply in plain text ends the turn with that reply',
    endpoint: () => said('It is on its way.'),
    means: { proposal: { kind: 'finish_candidate', reply: 'It is on its way.' } },
  },
  {
    title: '[S3-35] parallel tool calls come in their order',
    endpoint: () => ({
      do: 'answer',
      calls: [
        { id: 'a', name: 'get_order', arguments: ORDER },
        { id: 'b', name: 'get_order', arguments: { orderId: '8' } },
      ],
    }),
    means: {
      proposal: {
        kind: 'tool_calls',
        calls: [
          { id: 'a', tool: 'get_order', arguments: ORDER },
          { id: 'b', tool: 'get_order', arguments: { orderId: '8' } },
        ],
      },
    },
  },
  {
    title: 'text beside tool calls is no reply',
    endpoint: () => ({
      do: 'answer',
      text: 'I refund it now.',
      calls: [{ id: 'a', name: 'get_order', arguments: ORDER }],
    }),
    means: {
      proposal: {
        kind: 'tool_calls',
        calls: [{ id: 'a', tool: 'get_order', arguments: ORDER }],
        rationale: 'I refund it now.',
      },
    },
  },
  {
    title: 'a tool nobody has is handed on for the checks to refuse',
    endpoint: () => ({ do: 'answer', calls: [{ id: 'a', name: 'delete_all', arguments: {} }] }),
    means: {
      proposal: { kind: 'tool_calls', calls: [{ id: 'a', tool: 'delete_all', arguments: {} }] },
    },
  },
  {
    title: 'finish ends the turn with a reply and its evidence',
    endpoint: () => ({
      do: 'answer',
      calls: [
        {
          name: 'finish',
          arguments: {
            reply: 'Paid.',
            claims: [{ text: 'it is paid', evidence: ['1.1'] }],
            as: 'replied',
          },
        },
      ],
    }),
    means: {
      proposal: {
        kind: 'finish_candidate',
        reply: 'Paid.',
        claims: [{ text: 'it is paid', evidence: ['1.1'] }],
        as: 'replied',
      },
    },
  },
  {
    title: 'a question, a hand-over and a refusal by rule are proposals of their own: question',
    endpoint: () => ({
      do: 'answer',
      calls: [{ name: 'ask_customer', arguments: { text: 'Which order?' } }],
    }),
    means: { proposal: { kind: 'ask_customer', text: 'Which order?' } },
  },
  {
    title: 'a wish for a person comes before any work named beside it',
    endpoint: () => ({
      do: 'answer',
      calls: [
        { name: 'issue_refund', arguments: { orderId: '7', amount: 5 } },
        { name: 'escalate', arguments: { rationale: 'wants a person' } },
      ],
    }),
    means: { proposal: { kind: 'escalate', rationale: 'wants a person' } },
  },
  {
    title: 'an end announced together with work waits for the results of the work',
    endpoint: () => ({
      do: 'answer',
      calls: [
        { id: 'a', name: 'issue_refund', arguments: { orderId: '7', amount: 5 } },
        { id: 'b', name: 'refuse', arguments: { reply: 'Done.' } },
      ],
    }),
    means: {
      proposal: {
        kind: 'tool_calls',
        calls: [{ id: 'a', tool: 'issue_refund', arguments: { orderId: '7', amount: 5 } }],
      },
    },
  },
  {
    title: '[S3-35] a reply cut at its length is no reply',
    endpoint: () => ({ do: 'answer', text: 'Your order is', end: 'length', usage: FULL }),
    means: fails('max_tokens'),
  },
  {
    title: '[S3-26] [S3-35] a call cut at the length of the answer is not run',
    endpoint: () => ({ do: 'answer', calls: [CUT_CALL], end: 'length', usage: FULL }),
    means: fails('max_tokens'),
  },
  {
    title: 'a call cut before its arguments began is not run with none',
    endpoint: () => ({
      do: 'answer',
      calls: [{ name: 'get_order', arguments: '' }],
      end: 'length',
      usage: FULL,
    }),
    means: fails('max_tokens'),
  },
  {
    title: 'whole calls count although the answer was cut after them',
    endpoint: () => ({
      do: 'answer',
      calls: [{ id: 'a', name: 'get_order', arguments: ORDER }],
      end: 'length',
      usage: FULL,
    }),
    means: {
      proposal: { kind: 'tool_calls', calls: [{ id: 'a', tool: 'get_order', arguments: ORDER }] },
    },
  },
  {
    title: 'arguments that are not whole are never completed: the model is told',
    endpoint: () => ({ do: 'answer', calls: [CUT_CALL] }),
    means: { failure: 'invalid_proposal', detail: 'the arguments of call 1 are not JSON' },
  },
  {
    title: '[S3-28] [S3-35] a refusal is no reply',
    endpoint: () => ({ do: 'answer', text: 'I cannot help with that.', end: 'refusal' }),
    means: fails('refusal'),
  },
  {
    title: '[S3-28] an empty answer is no reply',
    endpoint: () => ({ do: 'answer', text: '  ' }),
    means: fails('empty_reply'),
  },
  {
    title: '[S3-35] an end nobody knows is kept by its name and sends nothing',
    endpoint: () => ({ do: 'answer', text: 'Half a', end: { raw: 'tired' } }),
    means: { failure: 'unknown_stop_reason', detail: 'tired' },
  },
  {
    title: 'tool calls count under an end nobody knows',
    endpoint: () => ({
      do: 'answer',
      calls: [{ id: 'a', name: 'get_order', arguments: ORDER }],
      end: { raw: 'tired' },
    }),
    means: {
      proposal: { kind: 'tool_calls', calls: [{ id: 'a', tool: 'get_order', arguments: ORDER }] },
    },
  },
  {
    title: 'an answer the provider withholds is told apart from a refusal',
    endpoint: (api) =>
      api === 'messages' ? fault('filter', api) : { do: 'answer', text: 'Well', end: 'filter' },
    means: fails('content_filter'),
  },
  turnedAway('[S3-35] a request too long for the model', 'overflow', 'context_overflow'),
  {
    title: '[S3-35] a context that is full before the answer is complete',
    endpoint: () => ({ do: 'answer', text: 'The long story is', end: 'overflow' }),
    means: fails('overflow_mid_generation'),
  },
  turnedAway('too many requests a minute: with the moment to come back', 'rate', 'rate_limited', {
    waits: true,
  }),
  turnedAway(
    'too many requests at a time: with the moment to come back',
    'concurrency',
    'concurrency_limited',
    { waits: true },
  ),
  turnedAway('an empty account is not taken for a busy minute', 'quota', 'quota_exhausted', {
    waits: true,
  }),
  turnedAway('a wrong key', 'auth', 'authentication_failed'),
  turnedAway('a provider that is busy', 'overloaded', 'overloaded'),
  turnedAway('[S3-35] HTTP 500', 'error', 'server_error'),
  {
    title: '[S3-35] a connection that is closed without an answer',
    endpoint: () => ({ do: 'hang_up' }),
    means: fails('network_failure'),
  },
  {
    title: '[S3-35] a connection that is cut in the middle of the answer',
    endpoint: () => ({ do: 'cut', said: { text: 'Your order 7 has been sent, and the' } }),
    means: fails('network_failure'),
  },
  {
    title: 'a page instead of an answer',
    endpoint: () => ({ do: 'body', body: '<html>Welcome</html>', type: 'text/html' }),
    means: fails('server_error'),
  },
  {
    title: 'a body that is not whole JSON',
    endpoint: () => ({ do: 'body', body: '{"id": "x", "choi' }),
    means: fails('server_error'),
  },
  {
    title: '[S3-35] an answer that never ends is cut by time, however busy it is',
    endpoint: () => ({ do: 'answer', text: 'and '.repeat(500), paceMs: 20 }),
    means: { failure: 'timeout', by: 'never' },
    limits: { timeoutMs: 300 },
  },
  {
    title: 'an answer that goes silent after its first words is cut by silence',
    endpoint: () => ({ do: 'stall' }),
    means: { failure: 'silence', by: 'never' },
    limits: { silenceMs: 200 },
  },
  {
    title: 'a call is cut when the turn is stopped',
    endpoint: () => ({ do: 'stall' }),
    means: { failure: 'aborted', by: 'never' },
    limits: { stop: AbortSignal.timeout(1) },
  },
];

export type Provider = {
  name: string;
  /** The model for a case. What it needs is closed when the test ends. */
  model(one: ContractCase): Promise<Model>;
};

const LIMITS: CallLimits = { timeoutMs: 20_000, silenceMs: 10_000 };

/** Asks as the worker asks. */
export function askAsWorker(
  model: Model,
  limits: Partial<CallLimits> = {},
  view = viewOf(),
): Promise<ModelAnswer> {
  return modelClient(model).ask(view, { ...LIMITS, ...limits });
}

export function providerContract({ name, model }: Provider): void {
  describe(`[S3-34] ${name} keeps the contract of providers`, () => {
    test.each(CASES)('$title', async (one) => {
      const made = await model(one);
      const estimate = made.estimate(viewOf());
      const startedAt = Date.now();

      const answer = await askAsWorker(made, one.limits);

      if ('proposal' in one.means) {
        expect(answer).toMatchObject({ ok: true, proposal: one.means.proposal });
        if (!answer.ok) return;
        const { inputTokens, outputTokens, costMicros } = answer.usage;
        expect(inputTokens + outputTokens).toBeLessThanOrEqual(estimate.tokens);
        expect(costMicros).toBeLessThanOrEqual(estimate.costMicros);
        expect(answer.model).not.toBe('');
        return;
      }
      const { failure, detail, waits } = one.means;
      expect(answer).toMatchObject({ ok: false, failure: { kind: failure } });
      if (answer.ok) return;
      if (detail !== undefined) expect(answer.failure.detail).toBe(detail);
      if (waits === true && name !== 'replay') {
        expect(answer.failure.retryAt).toBeGreaterThan(startedAt);
      }
    });
  });
}
