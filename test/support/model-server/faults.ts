import type { Api, Behaviour } from './behaviour.ts';

type Fault = {
  status: number;
  openai: { code?: string | null; type?: string; message: string };
  anthropic: { type: string; message: string };
  headers?: Record<string, string>;
};

/** Errors as the vendors send them. */
const FAULTS = {
  overflow: {
    status: 400,
    openai: {
      code: 'context_length_exceeded',
      type: 'invalid_request_error',
      message: "This model's maximum context length is 8192 tokens. Please reduce the length.",
    },
    anthropic: {
      type: 'invalid_request_error',
      message: 'prompt is too long: 210000 tokens > 200000 maximum',
    },
  },
  rate: {
    status: 429,
    openai: {
      code: 'rate_limit_exceeded',
      type: 'requests',
      message:
        'Rate limit reached for requests per min. Add a payment method at /account/billing to raise it.',
    },
    anthropic: {
      type: 'rate_limit_error',
      message: 'Number of requests has exceeded the rate limit.',
    },
    headers: { 'retry-after': '7' },
  },
  concurrency: {
    status: 429,
    openai: {
      code: 'rate_limit_reached_error',
      message: 'Your account reached max organization concurrency: 3, please try again.',
    },
    anthropic: {
      type: 'rate_limit_error',
      message: 'Number of concurrent connections has exceeded your rate limit.',
    },
    headers: { 'retry-after-ms': '250' },
  },
  quota: {
    status: 429,
    openai: {
      code: 'insufficient_quota',
      type: 'insufficient_quota',
      message: 'You exceeded your current quota, please check your plan and billing details.',
    },
    anthropic: {
      type: 'invalid_request_error',
      message: 'Your credit balance is too low to access the API.',
    },
  },
  auth: {
    status: 401,
    openai: {
      code: 'invalid_api_key',
      type: 'invalid_request_error',
      message: 'Incorrect API key provided: sk-proj-********************abcd.',
    },
    anthropic: { type: 'authentication_error', message: 'invalid x-api-key' },
  },
  model: {
    status: 404,
    openai: {
      code: 'model_not_found',
      type: 'invalid_request_error',
      message: 'The model does not exist or you do not have access to it.',
    },
    anthropic: { type: 'not_found_error', message: 'model: claude-nonsense' },
  },
  filter: {
    status: 400,
    openai: {
      code: 'content_filter',
      message:
        "The response was filtered due to the prompt triggering Azure's content management policy.",
    },
    anthropic: {
      type: 'invalid_request_error',
      message: 'Output blocked by content filtering policy: content_filter',
    },
  },
  overloaded: {
    status: 503,
    openai: { code: null, type: 'server_error', message: 'The engine is currently overloaded.' },
    anthropic: { type: 'overloaded_error', message: 'Overloaded' },
  },
  error: {
    status: 500,
    openai: { code: null, type: 'server_error', message: 'The server had an error.' },
    anthropic: { type: 'api_error', message: 'Internal server error' },
  },
} as const satisfies Record<string, Fault>;

export type FaultName = keyof typeof FAULTS;

/** The error in the words of the API. */
function faultBody(name: FaultName, api: Api): object {
  const { openai, anthropic } = FAULTS[name];
  return api === 'messages' ? { type: 'error', error: anthropic } : { error: openai };
}

export function fault(name: FaultName, api: Api, headers?: Record<string, string>): Behaviour {
  const known: Fault = FAULTS[name];
  const given = headers ?? known.headers;
  return {
    do: 'status',
    status: known.status,
    body: faultBody(name, api),
    ...(given === undefined ? {} : { headers: given }),
  };
}
