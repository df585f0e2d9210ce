import type Anthropic from '@anthropic-ai/sdk';
import type { Stream } from '@anthropic-ai/sdk/streaming';
import type { Wire, WireAnswer, WireCall, WireRequest, WireUsage } from '../wire.ts';
import { isRecord, wireError } from '../failures.ts';
import { stringOf, tokensOf } from '../line.ts';
import type { ProviderSettings } from '../provider-settings.ts';
import type { TranscriptEntry } from '../transcript.ts';
import { stopReason } from './finish.ts';

type Block = Anthropic.ContentBlockParam;
type Message = { role: 'user' | 'assistant'; content: Block[] };

/** The Messages API. */
export function messagesWire({
  client,
  settings,
  Stream: EventStream,
}: {
  client: Anthropic;
  settings: ProviderSettings;
  Stream: typeof Stream;
}): Wire {
  const { model, temperature, parallelToolCalls, strictSchemas } = settings;
  return {
    api: 'anthropic',
    tokenFactor: 1.4,
    post(request, { fetch, signal }) {
      return client
        .withOptions({ fetch })
        .messages.create(
          {
            model,
            max_tokens: request.maxOutputTokens,
            system: [
              // What comes before, the tools included, is the same in every call of the agent.
              { type: 'text', text: request.instructions, cache_control: { type: 'ephemeral' } },
              { type: 'text', text: request.situation },
            ],
            messages: messagesOf(request),
            tools: request.tools.map(({ name, description, parameters }) => ({
              ...{ name, description },
              input_schema: { ...parameters, type: 'object' },
              ...(strictSchemas === true ? { strict: true } : {}),
            })),
            stream: true,
            ...(parallelToolCalls === undefined
              ? {}
              : { tool_choice: { type: 'auto', disable_parallel_tool_use: !parallelToolCalls } }),
            ...(temperature === undefined ? {} : { temperature }),
          },
          { signal },
        )
        .asResponse();
    },
    events: (response, abort) => EventStream.fromSSEResponse<unknown>(response, abort, client),
    pieceOf: ({ delta }) =>
      isRecord(delta) ? (stringOf(delta['text']) ?? stringOf(delta['partial_json']) ?? '') : '',
    collect,
    read,
  };
}

/** Results and what follows them are one message of the user: roles alternate. */
function messagesOf({ transcript }: WireRequest): Message[] {
  const messages: Message[] = [];
  for (const entry of transcript) {
    const role = entry.role === 'assistant' ? 'assistant' : 'user';
    const last = messages.at(-1);
    if (last?.role === role) last.content.push(...blocksOf(entry));
    else messages.push({ role, content: blocksOf(entry) });
  }
  return messages;
}

function blocksOf(entry: TranscriptEntry): Block[] {
  switch (entry.role) {
    case 'user':
      return [{ type: 'text', text: entry.text }];
    case 'assistant':
      return [
        // A text that ends in white space is refused.
        ...(entry.text === '' ? [] : [{ type: 'text', text: entry.text.trimEnd() } as const]),
        ...entry.calls.map(({ id, tool, arguments: args }): Block => ({
          type: 'tool_use',
          id,
          name: tool,
          input: isRecord(args) ? args : {},
        })),
      ];
    case 'results':
      return entry.results.map(({ id, text }) => ({
        type: 'tool_result',
        tool_use_id: id,
        content: text,
      }));
    default:
      return entry satisfies never;
  }
}

/** A content block while it is put together. */
type OpenBlock = { type: string; text: string; call: WireCall; json: string };

async function collect(events: AsyncIterable<unknown>): Promise<WireAnswer> {
  const blocks: OpenBlock[] = [];
  const counts: Record<string, unknown> = {};
  let model: string | undefined;
  let stop: string | undefined;
  let error: WireAnswer['error'];
  try {
    for await (const event of events) {
      if (!isRecord(event)) continue;
      const { message, content_block: block, delta, usage } = event;
      if (isRecord(message)) {
        model ??= stringOf(message['model']);
        if (isRecord(message['usage'])) Object.assign(counts, message['usage']);
      }
      if (isRecord(block)) blocks.push(openBlock(block));
      const open = blocks.at(-1);
      if (isRecord(delta)) {
        stop = stringOf(delta['stop_reason']) ?? stop;
        if (open !== undefined) {
          open.text += stringOf(delta['text']) ?? '';
          open.json += stringOf(delta['partial_json']) ?? '';
        }
      }
      if (isRecord(usage)) Object.assign(counts, usage);
    }
  } catch (thrown) {
    // After the reason there is nothing more to come.
    if (stop === undefined) {
      // The SDK throws an event of the kind `error`, its body attached.
      const body = thrown instanceof Error && 'error' in thrown ? thrown.error : undefined;
      if (body === undefined) throw thrown;
      error = wireError(body);
    }
  }
  return {
    text: textIn(blocks),
    calls: blocks
      .filter(({ type }) => type === 'tool_use')
      .map(({ call, json }) => (json === '' ? call : { ...call, arguments: json })),
    ...endOf(stop),
    complete: stop !== undefined,
    ...usageIn(counts),
    ...(model === undefined ? {} : { model }),
    ...(error === undefined ? {} : { error }),
  };
}

function openBlock(block: Record<string, unknown>): OpenBlock {
  const { type, text, id, name, input } = block;
  const started = isRecord(input) && Object.keys(input).length > 0 ? { arguments: input } : {};
  return {
    type: stringOf(type) ?? '',
    text: stringOf(text) ?? '',
    call: { id, name, ...started },
    json: '',
  };
}

function read(body: Record<string, unknown>): WireAnswer {
  const { content, stop_reason: stop, usage } = body;
  const blocks = (Array.isArray(content) ? content : []).filter(isRecord).map(openBlock);
  const model = stringOf(body['model']);
  return {
    text: textIn(blocks),
    calls: blocks.filter(({ type }) => type === 'tool_use').map(({ call }) => call),
    ...endOf(stringOf(stop)),
    complete: true,
    ...(isRecord(usage) ? usageIn(usage) : {}),
    ...(model === undefined ? {} : { model }),
  };
}

function textIn(blocks: readonly OpenBlock[]): string {
  return blocks
    .filter(({ type }) => type === 'text')
    .map(({ text }) => text)
    .join('');
}

function endOf(stop: string | undefined): Pick<WireAnswer, 'finish' | 'refused' | 'rawFinish'> {
  const finish = stop === undefined ? 'stop' : stopReason(stop);
  return { finish, refused: false, ...(stop === undefined ? {} : { rawFinish: stop }) };
}

function usageIn(usage: Record<string, unknown>): { usage?: WireUsage } {
  if (usage['input_tokens'] === undefined && usage['output_tokens'] === undefined) return {};
  return {
    usage: {
      input: tokensOf(usage['input_tokens']),
      cachedInput: tokensOf(usage['cache_read_input_tokens']),
      cacheWrite: tokensOf(usage['cache_creation_input_tokens']),
      output: tokensOf(usage['output_tokens']),
    },
  };
}
