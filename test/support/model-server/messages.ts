import { jsonOf, pieces, type Said, type StreamEvent } from './behaviour.ts';

const ENDS = {
  stop: 'end_turn',
  length: 'max_tokens',
  refusal: 'refusal',
  filter: 'refusal',
  overflow: 'model_context_window_exceeded',
} as const;

function stopOf({ end = 'stop', calls = [] }: Said): string {
  if (typeof end === 'object') return end.raw;
  return end === 'stop' && calls.length > 0 ? 'tool_use' : ENDS[end];
}

function countsOf({ usage = { input: 100, output: 20 } }: Said): {
  input_tokens?: number;
  cache_read_input_tokens?: number;
  output_tokens?: number;
} {
  if (usage === null) return {};
  const { input, output, cached = 0 } = usage;
  return {
    input_tokens: input - cached,
    cache_read_input_tokens: cached,
    output_tokens: output,
  };
}

const HEAD = { id: 'msg_1', type: 'message', role: 'assistant' };

export function messagesBody(said: Said, model: string): object {
  const { text = '', calls = [] } = said;
  return {
    ...HEAD,
    model,
    content: [
      ...(text === '' ? [] : [{ type: 'text', text }]),
      ...calls.map((call, index) => ({
        type: 'tool_use',
        id: call.id ?? `toolu_${index}`,
        name: call.name,
        input: typeof call.arguments === 'string' ? {} : call.arguments,
      })),
    ],
    stop_reason: stopOf(said),
    stop_sequence: null,
    usage: countsOf(said),
  };
}

export function messagesEvents(said: Said, model: string): StreamEvent[] {
  const { text = '', calls = [] } = said;
  const { input_tokens, cache_read_input_tokens, output_tokens } = countsOf(said);
  const started = { input_tokens, cache_read_input_tokens, output_tokens: 1 };
  const blocks: { block: object; deltas: object[] }[] = [
    ...(text === ''
      ? []
      : [
          {
            block: { type: 'text', text: '' },
            deltas: pieces(text).map((piece) => ({ type: 'text_delta', text: piece })),
          },
        ]),
    ...calls.map((call, index) => ({
      block: { type: 'tool_use', id: call.id ?? `toolu_${index}`, name: call.name, input: {} },
      deltas: pieces(jsonOf(call.arguments)).map((piece) => ({
        type: 'input_json_delta',
        partial_json: piece,
      })),
    })),
  ];
  const events: ({ type: string } & Record<string, unknown>)[] = [
    {
      type: 'message_start',
      message: {
        ...HEAD,
        model,
        content: [],
        stop_reason: null,
        ...(said.usage === null ? {} : { usage: started }),
      },
    },
    { type: 'ping' },
    ...blocks.flatMap(({ block, deltas }, index) => [
      { type: 'content_block_start', index, content_block: block },
      ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
      { type: 'content_block_stop', index },
    ]),
    {
      type: 'message_delta',
      delta: { stop_reason: stopOf(said), stop_sequence: null },
      ...(said.usage === null ? {} : { usage: { output_tokens } }),
    },
    { type: 'message_stop' },
  ];
  return events.map((data) => ({ event: data.type, data }));
}
