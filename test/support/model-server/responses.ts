import { jsonOf, pieces, type Said, type StreamEvent } from './behaviour.ts';

const INCOMPLETE = { length: 'max_output_tokens', filter: 'content_filter' } as const;

/** A raw end that is no status is a reason for being incomplete. */
function statusOf({ end = 'stop' }: Said): object {
  const done = { status: 'completed', incomplete_details: null, error: null };
  if (typeof end === 'object') {
    return { ...done, status: 'incomplete', incomplete_details: { reason: end.raw } };
  }
  switch (end) {
    case 'stop':
    case 'refusal':
      return done;
    case 'length':
    case 'filter':
      return { ...done, status: 'incomplete', incomplete_details: { reason: INCOMPLETE[end] } };
    case 'overflow':
      return {
        ...done,
        status: 'failed',
        error: {
          code: 'context_length_exceeded',
          message: 'Your input exceeds the context window of this model.',
        },
      };
    default:
      return end satisfies never;
  }
}

function itemsOf({ text = '', calls = [], end }: Said): object[] {
  const part =
    end === 'refusal'
      ? { type: 'refusal', refusal: text === '' ? 'No.' : text }
      : { type: 'output_text', text, annotations: [] };
  const speaks = text !== '' || end === 'refusal';
  const message = { type: 'message', id: 'msg_1', role: 'assistant', content: [part] };
  return [
    ...(speaks ? [message] : []),
    ...calls.map((call, index) => ({
      type: 'function_call',
      id: `fc_${index}`,
      call_id: call.id ?? `call_${index}`,
      name: call.name,
      arguments: jsonOf(call.arguments),
    })),
  ];
}

export function responsesBody(said: Said, model: string): object {
  const { usage = { input: 100, output: 20 } } = said;
  const counts =
    usage === null
      ? null
      : {
          input_tokens: usage.input,
          input_tokens_details: { cached_tokens: usage.cached ?? 0 },
          output_tokens: usage.output,
          output_tokens_details: { reasoning_tokens: 0 },
          total_tokens: usage.input + usage.output,
        };
  return {
    ...{ id: 'resp_1', object: 'response', created_at: 1_790_000_000, model },
    ...statusOf(said),
    output: itemsOf(said),
    usage: counts,
  };
}

export function responsesEvents(said: Said, model: string): StreamEvent[] {
  const body = responsesBody(said, model) as { status: string };
  const events: object[] = [
    { type: 'response.created', response: { ...body, status: 'in_progress', output: [] } },
    ...pieces(said.text ?? '').map((delta) => ({ type: 'response.output_text.delta', delta })),
    ...(said.calls ?? []).flatMap((call, index) =>
      pieces(jsonOf(call.arguments)).map((delta) => ({
        type: 'response.function_call_arguments.delta',
        item_id: `fc_${index}`,
        delta,
      })),
    ),
    ...itemsOf(said).map((item) => ({ type: 'response.output_item.done', item })),
    { type: `response.${body.status}`, response: body },
  ];
  return events.map((data, sequence_number) => ({
    event: (data as { type: string }).type,
    data: { ...data, sequence_number },
  }));
}
