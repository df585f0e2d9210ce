import { jsonOf, pieces, type Said, type StreamEvent } from './behaviour.ts';

const ENDS = {
  stop: 'stop',
  length: 'length',
  refusal: 'stop',
  filter: 'content_filter',
  overflow: 'length',
} as const;

function finishOf({ end = 'stop', calls = [] }: Said): string {
  if (typeof end === 'object') return end.raw;
  return end === 'stop' && calls.length > 0 ? 'tool_calls' : ENDS[end];
}

function usageOf({ usage = { input: 100, output: 20 } }: Said): object {
  if (usage === null) return {};
  const { input, output, cached = 0 } = usage;
  return {
    usage: {
      prompt_tokens: input,
      completion_tokens: output,
      total_tokens: input + output,
      prompt_tokens_details: { cached_tokens: cached },
    },
  };
}

const HEAD = { id: 'chatcmpl-1', created: 1_790_000_000 };

export function chatBody(said: Said, model: string): object {
  const { text, calls = [], end } = said;
  const spoken =
    end === 'refusal' ? { content: null, refusal: text ?? 'No.' } : { content: text ?? null };
  return {
    ...HEAD,
    object: 'chat.completion',
    model,
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          ...spoken,
          ...(calls.length === 0
            ? {}
            : {
                tool_calls: calls.map((call, index) => ({
                  id: call.id ?? `call_${index}`,
                  type: 'function',
                  function: { name: call.name, arguments: jsonOf(call.arguments) },
                })),
              }),
        },
        finish_reason: finishOf(said),
      },
    ],
    ...usageOf(said),
  };
}

export function chatEvents(said: Said, model: string): StreamEvent[] {
  const { text = '', calls = [], end } = said;
  const chunk = (delta: object, finish: string | null = null): StreamEvent => ({
    data: {
      ...HEAD,
      object: 'chat.completion.chunk',
      model,
      choices: [{ index: 0, delta, finish_reason: finish }],
    },
  });
  const key = end === 'refusal' ? 'refusal' : 'content';
  const spoken = end === 'refusal' && text === '' ? 'No.' : text;
  return [
    chunk({ role: 'assistant', content: '' }),
    ...pieces(spoken).map((piece) => chunk({ [key]: piece })),
    ...calls.flatMap((call, index) => [
      chunk({
        tool_calls: [
          {
            index,
            id: call.id ?? `call_${index}`,
            type: 'function',
            function: { name: call.name, arguments: '' },
          },
        ],
      }),
      ...pieces(jsonOf(call.arguments)).map((piece) =>
        chunk({ tool_calls: [{ index, function: { arguments: piece } }] }),
      ),
    ]),
    chunk({}, finishOf(said)),
    ...(said.usage === null
      ? []
      : [
          {
            data: {
              ...HEAD,
              object: 'chat.completion.chunk',
              model,
              choices: [],
              ...usageOf(said),
            },
          },
        ]),
    { data: '[DONE]' },
  ];
}
