import type OpenAI from 'openai';
import type { Finish } from '../wire.ts';

type ChatFinish = OpenAI.Chat.ChatCompletion.Choice['finish_reason'];
type ResponseStatus = OpenAI.Responses.ResponseStatus;
type Incomplete = NonNullable<OpenAI.Responses.Response.IncompleteDetails['reason']>;

/** Every finish reason of the API; a new one in the SDK does not compile until it stands here. */
export const CHAT_FINISH = {
  stop: 'stop',
  length: 'length',
  tool_calls: 'calls',
  function_call: 'calls',
  content_filter: 'filter',
} as const satisfies Record<ChatFinish, Finish>;

/** Words compatible servers use for the same. */
const CHAT_DIALECTS: Readonly<Record<string, Finish>> = {
  eos: 'stop',
  eos_token: 'stop',
  end_turn: 'stop',
  stop_sequence: 'stop',
  max_tokens: 'length',
  model_length: 'overflow',
  tool_use: 'calls',
  safety: 'filter',
  recitation: 'filter',
  refusal: 'refusal',
  error: 'failed',
  abort: 'failed',
  insufficient_system_resource: 'failed',
};

export const RESPONSE_STATUS = {
  completed: 'stop',
  incomplete: 'unknown',
  failed: 'failed',
  cancelled: 'failed',
  in_progress: 'failed',
  queued: 'failed',
} as const satisfies Record<ResponseStatus, Finish>;

export const RESPONSE_INCOMPLETE = {
  max_output_tokens: 'length',
  content_filter: 'filter',
  max_messages: 'unknown',
  steered: 'unknown',
} as const satisfies Record<Incomplete, Finish>;

export function chatFinish(raw: string): Finish {
  return found<Finish>({ ...CHAT_DIALECTS, ...CHAT_FINISH }, raw.toLowerCase());
}

export function responseFinish(status: string, incomplete: string | undefined): Finish {
  return status === 'incomplete' && incomplete !== undefined
    ? found<Finish>(RESPONSE_INCOMPLETE, incomplete)
    : found<Finish>(RESPONSE_STATUS, status);
}

function found<T extends Finish>(table: Readonly<Record<string, T>>, word: string): T | 'unknown' {
  return Object.hasOwn(table, word) ? (table[word] ?? 'unknown') : 'unknown';
}
