import type OpenAI from 'openai';
import type { Wire, WireAnswer, WireRequest } from '../wire.ts';
import { isRecord } from '../failures.ts';
import { stringOf, textOf } from '../line.ts';
import type { TranscriptEntry } from '../transcript.ts';
import { ChatDraft } from './chat-draft.ts';
import { isVendor, type OpenAIWiring } from './settings.ts';

type Message = OpenAI.Chat.ChatCompletionMessageParam;

/** Chat Completions: what OpenAI, Azure, vLLM, Ollama, LiteLLM, OpenRouter, LM Studio and llama.cpp have in common. */
export function chatWire({ client, settings, Stream }: OpenAIWiring): Wire {
  const { model, temperature, reasoningEffort, parallelToolCalls, strictSchemas } = settings;
  return {
    api: 'openai-chat',
    // Models behind compatible servers count in words of their own.
    tokenFactor: isVendor(settings.baseURL) ? 1.1 : 1.3,
    post(request, { fetch, signal }) {
      const most = request.maxOutputTokens;
      return client
        .withOptions({ fetch })
        .chat.completions.create(
          {
            model,
            messages: messagesOf(request),
            tools: request.tools.map(({ name, description, parameters }) => ({
              type: 'function',
              function: {
                ...{ name, description, parameters },
                ...(strictSchemas === true ? { strict: true } : {}),
              },
            })),
            stream: true,
            stream_options: { include_usage: true },
            // The vendor's newer models refuse the old name, the compatible servers do not know the new one.
            ...(isVendor(settings.baseURL)
              ? { max_completion_tokens: most }
              : { max_tokens: most }),
            ...(temperature === undefined ? {} : { temperature }),
            ...(reasoningEffort === undefined ? {} : { reasoning_effort: reasoningEffort }),
            ...(parallelToolCalls === undefined ? {} : { parallel_tool_calls: parallelToolCalls }),
          },
          { signal },
        )
        .asResponse();
    },
    events: (response, abort) =>
      Stream.fromSSEResponse<unknown>(response, abort, client, false, 'events'),
    pieceOf,
    collect,
    read,
  };
}

function messagesOf({ instructions, situation, transcript }: WireRequest): Message[] {
  const system: Message = { role: 'system', content: `${instructions}\n\n${situation}` };
  return [system, ...transcript.flatMap(messageOf)];
}

function messageOf(entry: TranscriptEntry): Message[] {
  switch (entry.role) {
    case 'user':
      return [{ role: 'user', content: entry.text }];
    case 'assistant':
      return [
        {
          role: 'assistant',
          content: entry.text === '' ? null : entry.text,
          ...(entry.calls.length === 0
            ? {}
            : {
                tool_calls: entry.calls.map(({ id, tool, arguments: args }) => ({
                  id,
                  type: 'function',
                  function: { name: tool, arguments: JSON.stringify(args ?? {}) },
                })),
              }),
        },
      ];
    case 'results':
      return entry.results.map(({ id, text }) => ({
        role: 'tool',
        tool_call_id: id,
        content: text,
      }));
    default:
      return entry satisfies never;
  }
}

function pieceOf(event: Record<string, unknown>): string {
  const delta = firstChoice(event)?.['delta'];
  if (!isRecord(delta)) return '';
  const calls: unknown[] = Array.isArray(delta['tool_calls']) ? delta['tool_calls'] : [];
  const called = isRecord(calls[0]) && isRecord(calls[0]['function']) ? calls[0]['function'] : {};
  return textOf(delta['content']) + (stringOf(called['arguments']) ?? '');
}

async function collect(
  events: AsyncIterable<unknown>,
  { sawDone, request }: { sawDone: () => boolean; request: WireRequest },
): Promise<WireAnswer> {
  const draft = new ChatDraft();
  try {
    for await (const chunk of events) {
      if (!isRecord(chunk)) continue;
      draft.about(chunk);
      const choice = firstChoice(chunk);
      if (choice === undefined) continue;
      const part = choice['delta'] ?? choice['message'];
      if (isRecord(part)) draft.add(part, false);
      draft.finish ??= stringOf(choice['finish_reason']);
    }
  } catch (error) {
    // After the reason only the count was still to come.
    if (draft.finish === undefined) throw error;
  }
  return draft.answer(draft.finish !== undefined || sawDone(), request);
}

function read(body: Record<string, unknown>, request: WireRequest): WireAnswer {
  const draft = new ChatDraft();
  draft.about(body);
  const choice = firstChoice(body);
  if (isRecord(choice?.['message'])) draft.add(choice['message'], true);
  draft.finish = stringOf(choice?.['finish_reason']);
  return draft.answer(true, request);
}

/** We ask for one answer; a server that gives several gets the first one read. */
function firstChoice(body: Record<string, unknown>): Record<string, unknown> | undefined {
  const choices: unknown[] = Array.isArray(body['choices']) ? body['choices'] : [];
  return choices.filter(isRecord).find((choice) => (choice['index'] ?? 0) === 0);
}
