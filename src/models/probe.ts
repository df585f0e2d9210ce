import { DEFAULT_LIMITS } from '../contracts/index.ts';
import { modelClient } from '../calls/index.ts';
import type { ModelAnswer, View } from '../loop/index.ts';
import type { Exchange, ProviderModel } from './provider.ts';

/** One line of the report about a model. */
export type ModelFinding = {
  check: string;
  status: 'ok' | 'warn' | 'fail';
  /** What was found. */
  value: string;
  /** What to do about it; null when nothing. */
  fix: string | null;
};

/** Sends one tiny request with one tool, by the way turns take, and reports what the endpoint can do and what it costs. */
export async function testModel(
  model: ProviderModel,
  limits: { timeoutMs?: number; silenceMs?: number } = {},
): Promise<ModelFinding[]> {
  const { modelTimeoutMs, silenceMs } = DEFAULT_LIMITS;
  const findings = [
    ok('endpoint', `${model.endpoint} (${model.api})`),
    ok('model', model.modelName),
    ok('prices', model.priceSource),
  ];
  let exchange: Exchange | undefined;
  const client = modelClient({
    estimate: (view) => model.estimate(view),
    async ask(view, call) {
      exchange = await model.exchange(view, call);
      return exchange.answer;
    },
  });
  const startedAt = performance.now();
  const answer = await client.ask(PROBE, { timeoutMs: modelTimeoutMs, silenceMs, ...limits });
  const took = `${Math.round(performance.now() - startedAt)} ms`;
  if (answer.ok) return [...findings, ...findingsOf(answer, exchange, took)];
  const { kind, detail } = answer.failure;
  const said = exchange?.said === undefined ? '' : `: ${exchange.said.slice(0, 200)}`;
  const what = `${kind}${detail === undefined ? '' : ` (${detail})`}${said}`;
  return [
    ...findings,
    { check: 'answer', status: 'fail', value: what, fix: fixOf(answer, exchange) },
  ];
}

/** The message and the tool of the test; the model is to ask for the tool. */
const PROBE: View = {
  agent: 'a connection test',
  instructions: 'Call the tool get_state with the id the customer names. Do nothing else.',
  skills: [],
  requester: { id: 'test', assurance: 'none' },
  history: [],
  messages: [{ text: 'What is the state of 1?' }],
  facts: {},
  effects: [],
  openQuestions: [],
  earlierRounds: [],
  rounds: [],
  tools: [
    {
      name: 'get_state',
      description: 'Reads the state of an id. Not for: anything else.',
      parameters: {
        type: 'object',
        properties: { id: { type: 'string' } },
        required: ['id'],
      },
    },
  ],
  budget: { roundsLeft: 2, toolCallsLeft: 1, tokensLeft: 20_000, costMicrosLeft: 500_000 },
};

function findingsOf(
  { proposal, usage, model }: Extract<ModelAnswer, { ok: true }>,
  exchange: Exchange | undefined,
  took: string,
): ModelFinding[] {
  const { inputTokens, outputTokens, costMicros } = usage;
  const asked =
    proposal.kind === 'tool_calls' && proposal.calls.some(({ tool }) => tool === 'get_state');
  return [
    ok('answer', `by ${model} in ${took}`),
    asked
      ? ok('tool calls', 'yes')
      : warn(
          'tool calls',
          `answered with ${proposal.kind}`,
          'take a model and a server that support tools',
        ),
    exchange?.streamed === true
      ? ok('streaming', 'yes')
      : warn('streaming', 'no', 'a long answer counts as silence; raise limits.silenceMs'),
    exchange?.usageReported === true
      ? ok('token counts', `${inputTokens} in, ${outputTokens} out`)
      : warn('token counts', 'not reported', 'budgets go by our own estimate'),
    ok('cost', `$${(costMicros / 1e6).toFixed(6)} for this request`),
  ];
}

const FIXES: Partial<Record<Extract<ModelAnswer, { ok: false }>['failure']['kind'], string>> = {
  network_failure: 'nobody answers there: check baseURL, and that the server runs',
  timeout: 'it did not answer in time: check baseURL, and that the model is loaded',
  silence: 'it accepted the request and went silent: check that the model is loaded',
  quota_exhausted: 'the account has no money or allowance left: top it up',
  rate_limited: 'the account is at its limit: try again later',
  concurrency_limited: 'the account is at its limit: try again later',
  overloaded: 'the provider is busy: try again later',
  context_overflow:
    'the context of the model is too small for one message and one tool: take another model',
  max_tokens: 'maxOutputTokens leaves no room for an answer: raise it',
};

function fixOf(
  answer: Extract<ModelAnswer, { ok: false }>,
  exchange: Exchange | undefined,
): string {
  const { status, said = '' } = exchange ?? {};
  const { kind, detail = '' } = answer.failure;
  const words = `${detail} ${said}`.toLowerCase();
  if (status === 401 || /api.?key|authentication/.test(words)) return 'wrong key: check apiKey';
  if (status === 403) return 'the key may not use this model: check the rights of apiKey';
  if ([400, 404].includes(status ?? 0) && words.includes('model')) {
    return 'wrong model: check model, the endpoint does not know it';
  }
  if (status === 404 || status === 405 || words.includes('not json')) {
    return 'wrong URL: check baseURL (it usually ends in /v1) and api';
  }
  return FIXES[kind] ?? 'see the message; the request follows model, baseURL and api';
}

function ok(check: string, value: string): ModelFinding {
  return { check, status: 'ok', value, fix: null };
}

function warn(check: string, value: string, fix: string): ModelFinding {
  return { check, status: 'warn', value, fix };
}
