import { isRecord } from './failures.ts';

/** The largest answer that is read, in bytes. */
const MOST_BYTES = 16 * 1024 * 1024;

/**
 * The way to a provider for one call: tells every sign of life on it, and keeps what an SDK does not hand on. The SDK
 * gets its `fetch`.
 */
export class Line {
  /** Status and headers of the answer, once there are any. */
  response: { status: number; headers: Headers } | undefined;
  /** The body of an error answer. */
  errorBody: unknown;
  /** The stream's own mark that it is complete has come. */
  sawDone = false;
  readonly #heartbeat: () => void;

  constructor(heartbeat: () => void) {
    this.#heartbeat = heartbeat;
  }

  readonly fetch = async (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const response = await fetch(input, init);
    const { status, statusText, headers } = response;
    this.response = { status, headers };
    this.#heartbeat();
    const answer = new Response(this.#tapped(response.body), { status, statusText, headers });
    if (response.ok) return answer;
    const text = await answer.text();
    this.errorBody = parsed(text);
    return new Response(text, { status, statusText, headers });
  };

  get isStream(): boolean {
    return this.response?.headers.get('content-type')?.includes('text/event-stream') ?? false;
  }

  /** The body, every piece of it noticed. */
  #tapped(source: ReadableStream<Uint8Array> | null): ReadableStream<Uint8Array> | null {
    if (source === null) return null;
    const body = source.getReader();
    const decoder = new TextDecoder('latin1');
    let bytes = 0;
    let end = '';
    return new ReadableStream({
      pull: async (controller) => {
        const { done, value } = await body.read();
        if (done) return controller.close();
        this.#heartbeat();
        bytes += value.byteLength;
        if (bytes > MOST_BYTES) throw new AnswerTooLargeError();
        end = (end + decoder.decode(value.subarray(-TAIL))).slice(-TAIL);
        if (end.includes(DONE)) this.sawDone = true;
        controller.enqueue(value);
      },
      cancel: (reason) => body.cancel(reason),
    });
  }
}

const DONE = '[DONE]';
/** Bytes in which the mark is looked for; white space may follow it. */
const TAIL = 32;

class AnswerTooLargeError extends Error {
  readonly code = 'answer_too_large';
}

/** A body as JSON, or as the text it is. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

export function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  if (!Array.isArray(value)) return '';
  // Some servers answer with parts; only those that are text are for the reader.
  return value
    .map((part: unknown) =>
      isRecord(part) && [undefined, 'text', 'output_text'].includes(stringOf(part['type']))
        ? (stringOf(part['text']) ?? '')
        : '',
    )
    .join('');
}

export function stringOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** A token count a server reports; what is no whole number is not one. */
export function tokensOf(value: unknown): number {
  return typeof value === 'number' && Number.isInteger(value) && value > 0 ? value : 0;
}
