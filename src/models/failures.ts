import type { ModelFailure, ModelFailureKind } from '../contracts/index.ts';
import type { WireError } from './wire.ts';
import { retryAtOf } from './retry-after.ts';

/** A request the endpoint will never accept as it is: wrong model, wrong address, wrong parameter. */
const REJECTED: ModelFailureKind = 'request_rejected';

type Rule = { kind: ModelFailureKind; status?: readonly number[]; words?: RegExp };

/**
 * What an error means, first match wins. Codes and wordings are those of OpenAI, Azure, Anthropic, OpenRouter, vLLM,
 * llama.cpp, Ollama, Groq, Mistral, DeepSeek, Moonshot and Gemini's compatible endpoint.
 */
const RULES: readonly Rule[] = [
  {
    kind: 'context_overflow',
    status: [400, 413, 422, 500],
    words:
      /context_length|context_window|exceed_context_size|maximum context|context (?:length|window|size)|prompt (?:is )?too long|(?:input|prompt) is too long|too many (?:input )?tokens|input token count|maximum prompt length|string_above_max_length|reduce the length/,
  },
  { kind: 'context_overflow', status: [413] },
  {
    kind: 'content_filter',
    status: [400, 403, 422, 451],
    words:
      /content_filter|content_policy|content management policy|responsibleai|moderation|flagged|safety_violation|invalid_prompt|bio_policy|misalignment_policy/,
  },
  {
    kind: 'quota_exhausted',
    words: /insufficient_quota|quota_exhausted|billing_(?:hard|not|error)/,
  },
  // Limits a minute are worded like empty accounts by some, but tell how long they last.
  { kind: 'rate_limited', status: [429], words: /per.?minute|per.?second|(?:retry|try again) in/ },
  {
    kind: 'quota_exhausted',
    words:
      /insufficient (?:balance|credits|funds)|plan and billing|current.quota|credit balance|out of credits|spend limit/,
  },
  { kind: 'quota_exhausted', status: [402] },
  {
    kind: 'concurrency_limited',
    status: [429],
    words: /concurren|simultaneous|in.flight|parallel requests/,
  },
  {
    kind: 'overloaded',
    status: [429],
    words: /overloaded|engine_overloaded|system_busy|no capacity/,
  },
  { kind: 'rate_limited', status: [429] },
  { kind: 'rate_limited', words: /rate_limit|too many requests/ },
  {
    kind: 'authentication_failed',
    status: [400, 401, 403],
    words: /api.?key|authentication|unauthorized|permission|credential/,
  },
  { kind: 'authentication_failed', status: [401, 403] },
  { kind: 'overloaded', status: [503, 529] },
  { kind: 'overloaded', words: /overloaded|insufficient_system_resource/ },
  { kind: 'server_error', status: [408, 409, 425] },
];

/** Turned away at the door: nothing was computed, and the provider may have said when to come back. */
const WAITS: ReadonlySet<ModelFailureKind> = new Set([
  'rate_limited',
  'concurrency_limited',
  'quota_exhausted',
  'overloaded',
  'server_error',
]);

/** An account without money is not full again in a moment: until then nobody asks. Milliseconds. */
const EMPTY_FOR_MS = 60_000;

/** The failure behind an error answer, or behind an error inside an answer that had begun (`status` then missing). */
export function failureOf(
  error: WireError,
  about: { headers?: Headers; begun?: boolean; now?: number } = {},
): ModelFailure {
  const { headers, begun = false, now = Date.now() } = about;
  const kind = kindOf(error);
  const asked = headers !== undefined && WAITS.has(kind) ? retryAtOf(headers, now) : undefined;
  const retryAt = asked ?? (kind === 'quota_exhausted' ? now + EMPTY_FOR_MS : undefined);
  const detail = detailOf(error);
  return {
    kind: begun && kind === 'context_overflow' ? 'overflow_mid_generation' : kind,
    ...(detail === '' ? {} : { detail }),
    ...(retryAt === undefined ? {} : { retryAt }),
  };
}

function kindOf(error: WireError): ModelFailureKind {
  const { status } = error;
  const words = [error.code, error.type, error.message].join(' ').toLowerCase();
  const rule = RULES.find(
    (one) =>
      (one.status === undefined || status === undefined || one.status.includes(status)) &&
      // Without a status only words can tell.
      (one.words === undefined ? status !== undefined : one.words.test(words)),
  );
  if (rule !== undefined) return rule.kind;
  // Some servers turn an overlong prompt away without a word.
  if (status === 400 && words.trim() === '') return 'context_overflow';
  return status !== undefined && status >= 400 && status < 500 ? REJECTED : 'server_error';
}

/** Names of the provider only: a code or a type, never its prose. */
function detailOf({ status, code, type }: WireError): string {
  const name = [code, type].find((word) => word !== undefined && /^[\w.:-]{1,64}$/.test(word));
  return [
    ...(status === undefined ? [] : [`http ${status}`]),
    ...(name === undefined ? [] : [name]),
  ].join(', ');
}

/** The failure behind something that was thrown while the provider was spoken to. */
export function networkFailure(error: unknown): ModelFailure {
  for (
    let cause = error, depth = 0;
    cause instanceof Error && depth < 5;
    cause = cause.cause, depth += 1
  ) {
    if ('code' in cause && typeof cause.code === 'string' && /^\w{1,64}$/.test(cause.code)) {
      return { kind: 'network_failure', detail: cause.code };
    }
  }
  return { kind: 'network_failure' };
}

const CUTS = ['timeout', 'silence'] as const;

/** Why the runtime ended the call. */
export function cutOf(signal: AbortSignal): ModelFailure {
  const reason: unknown = signal.reason;
  const by = reason instanceof Error ? reason.message : '';
  return { kind: CUTS.find((cut) => cut === by) ?? 'aborted' };
}

/** An error body in whatever shape servers put it. */
export function wireError(body: unknown, status?: number): WireError {
  const outer = isRecord(body) ? body : {};
  const inner = isRecord(outer['error']) ? outer['error'] : outer;
  const text = [inner['message'], outer['detail'], outer['error'], outer['message'], body].find(
    (one): one is string => typeof one === 'string',
  );
  const inside = isRecord(inner['metadata']) ? JSON.stringify(inner['metadata']) : '';
  // A status inside the body of a 200 is the one that counts.
  const numbered = [inner['code'], inner['status']].find((one) => typeof one === 'number');
  const real = status === undefined || status < 400 ? numbered : status;
  return {
    ...(real === undefined ? {} : { status: real }),
    ...(typeof inner['code'] === 'string' ? { code: inner['code'] } : {}),
    ...(typeof inner['type'] === 'string' ? { type: inner['type'] } : {}),
    ...(text === undefined && inside === '' ? {} : { message: `${text ?? ''} ${inside}` }),
  };
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
