import { isRecord, wireError } from '../failures.ts';
import { stringOf, textOf, tokensOf } from '../line.ts';
import type { WireAnswer, WireCall, WireRequest, WireUsage } from '../wire.ts';
import { chatFinish } from './finish.ts';

/** One answer while it is put together, from one message or from many deltas. */
export class ChatDraft {
  text = '';
  refused = false;
  finish: string | undefined;
  usage: WireUsage | undefined;
  model: string | undefined;
  error: WireAnswer['error'];
  readonly #calls: { index: number | undefined; call: WireCall }[] = [];

  /** Takes a delta of the first choice in, or its whole message: every call in that one is whole too. */
  add(part: Record<string, unknown>, isWhole: boolean): void {
    this.text += textOf(part['content']);
    if (typeof part['refusal'] === 'string' && part['refusal'] !== '') this.refused = true;
    const calls: unknown[] = Array.isArray(part['tool_calls']) ? part['tool_calls'] : [];
    for (const call of calls) if (isRecord(call)) this.#addCall(call, isWhole);
    const old = part['function_call'];
    if (isRecord(old)) this.#addCall({ index: 0, function: old }, isWhole);
  }

  about(body: Record<string, unknown>): void {
    this.model ??= stringOf(body['model']);
    if (isRecord(body['usage'])) this.usage = usageOf(body['usage']);
    if (isRecord(body['error']) || typeof body['error'] === 'string') this.error = wireError(body);
  }

  answer(complete: boolean, request: WireRequest): WireAnswer {
    const { text, refused, usage, model, error, finish = '' } = this;
    const meant = finish === '' ? 'stop' : chatFinish(finish);
    // Cut short of the length that was allowed: it was the context that had no more room.
    const full =
      meant === 'length' &&
      usage !== undefined &&
      usage.output > 0 &&
      usage.output < request.maxOutputTokens;
    return {
      ...{ text, refused, complete, finish: full ? 'overflow' : meant, rawFinish: finish },
      calls: this.#calls.map(({ call }) => call),
      ...(usage === undefined ? {} : { usage }),
      ...(model === undefined ? {} : { model }),
      ...(error === undefined ? {} : { error }),
    };
  }

  /**
   * Servers differ in what they repeat: an index for every delta, the same index for every call, an id once or always,
   * or neither. A new index or a new id begins a call; a named delta without both does too.
   */
  #addCall(delta: Record<string, unknown>, isWhole: boolean): void {
    const called = isRecord(delta['function']) ? delta['function'] : delta;
    const index = typeof delta['index'] === 'number' ? delta['index'] : undefined;
    const id = stringOf(delta['id']) || undefined;
    const name = stringOf(called['name']) || undefined;
    const given = called['arguments'] ?? undefined;
    const open =
      index === undefined ? this.#calls.at(-1) : this.#calls.findLast((one) => one.index === index);
    const begins =
      isWhole ||
      open === undefined ||
      (id !== undefined && open.call.id !== undefined && id !== open.call.id) ||
      (index === undefined && name !== undefined && (id === undefined || id !== open.call.id));
    if (begins) {
      this.#calls.push({ index, call: { id, name, arguments: given } });
      return;
    }
    open.call.id ??= id;
    open.call.name ??= name;
    if (typeof given === 'string' && typeof open.call.arguments === 'string') {
      open.call.arguments += given;
    } else if (given !== undefined) {
      open.call.arguments = given;
    }
  }
}

function usageOf(usage: Record<string, unknown>): WireUsage {
  const details = isRecord(usage['prompt_tokens_details']) ? usage['prompt_tokens_details'] : {};
  const prompt = tokensOf(usage['prompt_tokens']);
  const cachedInput = Math.min(tokensOf(details['cached_tokens']), prompt);
  const cacheWrite = Math.min(tokensOf(details['cache_write_tokens']), prompt - cachedInput);
  return {
    input: prompt - cachedInput - cacheWrite,
    cachedInput,
    cacheWrite,
    // Some count thoughts in the total only.
    output: Math.max(
      tokensOf(usage['completion_tokens']),
      tokensOf(usage['total_tokens']) - prompt,
    ),
  };
}
