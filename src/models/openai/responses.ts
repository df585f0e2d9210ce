import type OpenAI from 'openai';
import type { Wire, WireAnswer, WireCall, WireUsage } from '../wire.ts';
import { isRecord, wireError } from '../failures.ts';
import { stringOf, textOf, tokensOf } from '../line.ts';
import type { TranscriptEntry } from '../transcript.ts';
import { responseFinish } from './finish.ts';
import type { OpenAIWiring } from './settings.ts';

type Item = OpenAI.Responses.ResponseInputItem;

/** The Responses API. Nothing is kept at the provider: every call carries the whole conversation. */
export function responsesWire({ client, settings, Stream }: OpenAIWiring): Wire {
  const { model, temperature, reasoningEffort, parallelToolCalls, strictSchemas } = settings;
  return {
    api: 'openai-responses',
    tokenFactor: 1.1,
    post(request, { fetch, signal }) {
      return client
        .withOptions({ fetch })
        .responses.create(
          {
            model,
            instructions: `${request.instructions}\n\n${request.situation}`,
            input: request.transcript.flatMap(itemsOf),
            tools: request.tools.map(({ name, description, parameters }) => ({
              ...{ type: 'function', name, description },
              parameters: { ...parameters },
              strict: strictSchemas === true,
            })),
            max_output_tokens: request.maxOutputTokens,
            store: false,
            stream: true,
            ...(temperature === undefined ? {} : { temperature }),
            ...(reasoningEffort === undefined ? {} : { reasoning: { effort: reasoningEffort } }),
            ...(parallelToolCalls === undefined ? {} : { parallel_tool_calls: parallelToolCalls }),
          },
          { signal },
        )
        .asResponse();
    },
    events: (response, abort) =>
      Stream.fromSSEResponse<unknown>(response, abort, client, false, 'events'),
    pieceOf: ({ type, delta }) =>
      stringOf(type)?.endsWith('.delta') === true ? textOf(delta) : '',
    collect,
    read: (body) => answerOf(body, []),
  };
}

function itemsOf(entry: TranscriptEntry): Item[] {
  switch (entry.role) {
    case 'user':
      return [{ role: 'user', content: entry.text }];
    case 'assistant':
      return [
        ...(entry.text === '' ? [] : [{ role: 'assistant', content: entry.text } as const]),
        ...entry.calls.map(({ id, tool, arguments: args }): Item => ({
          type: 'function_call',
          call_id: id,
          name: tool,
          arguments: JSON.stringify(args ?? {}),
        })),
      ];
    case 'results':
      return entry.results.map(({ id, text }) => ({
        type: 'function_call_output',
        call_id: id,
        output: text,
      }));
    default:
      return entry satisfies never;
  }
}

const ENDS: ReadonlySet<unknown> = new Set([
  'response.completed',
  'response.incomplete',
  'response.failed',
]);

/** The last event holds the whole answer; the items on the way count where a server leaves them out of it. */
async function collect(events: AsyncIterable<unknown>): Promise<WireAnswer> {
  const items: unknown[] = [];
  /** What has been written so far; counts only to tell that something has. */
  let written = '';
  let end: Record<string, unknown> | undefined;
  let error: WireAnswer['error'];
  try {
    for await (const event of events) {
      if (!isRecord(event)) continue;
      if (event['type'] === 'response.output_item.done') items.push(event['item']);
      if (stringOf(event['type'])?.endsWith('.delta') === true) written += textOf(event['delta']);
      if (event['type'] === 'error' || isRecord(event['error'])) error = wireError(event);
      if (ENDS.has(event['type']) && isRecord(event['response'])) end = event['response'];
    }
  } catch (thrown) {
    if (end === undefined) throw thrown;
  }
  const answer = answerOf(end ?? { status: 'in_progress' }, items);
  const fault = answer.error ?? error;
  return {
    ...answer,
    complete: end !== undefined,
    ...(fault === undefined ? {} : { error: fault, text: written }),
  };
}

function answerOf(response: Record<string, unknown>, seen: readonly unknown[]): WireAnswer {
  const output: unknown[] = Array.isArray(response['output']) ? response['output'] : [];
  const items = (output.length > 0 ? output : seen).filter(isRecord);
  const parts = items.filter(({ type }) => type === 'message').flatMap(partsOf);
  const details = response['incomplete_details'];
  const reason = isRecord(details) ? stringOf(details['reason']) : undefined;
  const status = stringOf(response['status']) ?? 'completed';
  const model = stringOf(response['model']);
  const { usage, error } = response;
  return {
    text: textOf(parts),
    calls: items.filter(({ type }) => type === 'function_call').map(callOf),
    refused: parts.some(({ type }) => type === 'refusal'),
    finish: responseFinish(status, reason),
    rawFinish: reason ?? status,
    complete: true,
    ...(isRecord(usage) ? { usage: usageOf(usage) } : {}),
    ...(model === undefined ? {} : { model }),
    ...(isRecord(error) ? { error: wireError({ error }) } : {}),
  };
}

function partsOf(message: Record<string, unknown>): Record<string, unknown>[] {
  const { content } = message;
  if (typeof content === 'string') return [{ type: 'output_text', text: content }];
  return Array.isArray(content) ? content.filter(isRecord) : [];
}

function callOf(item: Record<string, unknown>): WireCall {
  return { id: item['call_id'] ?? item['id'], name: item['name'], arguments: item['arguments'] };
}

function usageOf(usage: Record<string, unknown>): WireUsage {
  const details = isRecord(usage['input_tokens_details']) ? usage['input_tokens_details'] : {};
  const all = tokensOf(usage['input_tokens']);
  const cachedInput = Math.min(tokensOf(details['cached_tokens']), all);
  const cacheWrite = Math.min(tokensOf(details['cache_write_tokens']), all - cachedInput);
  const input = all - cachedInput - cacheWrite;
  return { input, cachedInput, cacheWrite, output: tokensOf(usage['output_tokens']) };
}
