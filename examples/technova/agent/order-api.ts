import { z } from 'zod';
import { ToolRefusal, ToolUnavailable, type ToolContext } from '../../../src/index.ts';

const problemSchema = z.object({ error: z.object({ code: z.string(), message: z.string() }) });

/** Longest a call of a tool may take, milliseconds. */
export const TIMEOUT_MS = 2_000;

/** What a call needs of its context; a caller without a runtime leaves the key's validity out. */
type CallOptions = Pick<ToolContext, 'operation' | 'signal'> & { validUntil?: number };

/**
 * Speaks to the order service and says, in the runtime's words, how a call went: an answer, a `ToolRefusal` (it said
 * no), a `ToolUnavailable` (it certainly did nothing), or any other error. A failed write is such another error: a 503
 * sent before the effect looks exactly like one sent after it. Answers come back unread: the runtime checks those of
 * `run` against the tool's `output`, so that an unreadable answer is told apart from none.
 */
export class OrderApi {
  readonly #url: string;

  constructor(url: string) {
    this.#url = url;
  }

  /** @throws ToolRefusal, ToolUnavailable */
  async read(path: string, { signal }: Pick<CallOptions, 'signal'>): Promise<unknown> {
    const response = await this.#send(path, { signal });
    if (response.status >= 500) {
      throw new ToolUnavailable('service_down', `the order service answered ${response.status}`);
    }
    return answerOf(response);
  }

  /** @throws ToolRefusal, ToolUnavailable, Error when it is not known whether it was done */
  async write(path: string, body: object, options: CallOptions): Promise<unknown> {
    const { operation, validUntil, signal } = options;
    const headers = {
      'content-type': 'application/json',
      'idempotency-key': operation,
      ...(validUntil === undefined ? {} : { 'x-valid-until': String(validUntil) }),
    };
    const init = { method: 'POST', headers, body: JSON.stringify(body), signal };
    const response = await this.#send(path, init);
    if (response.status >= 500) throw new Error(`the order service answered ${response.status}`);
    return answerOf(response);
  }

  async #send(path: string, init: RequestInit): Promise<Response> {
    try {
      return await fetch(this.#url + path, init);
    } catch (error) {
      if (!wasNeverSent(error)) throw error;
      throw new ToolUnavailable('service_down', 'the order service does not listen', {
        cause: error,
      });
    }
  }
}

async function answerOf(response: Response): Promise<unknown> {
  if (response.ok) return response.json();
  const problem = problemSchema.safeParse(await response.json().catch(() => undefined));
  const { status } = response;
  const { code, message } = problem.data?.error ?? {
    code: `http_${status}`,
    message: `it answered ${status}`,
  };
  // Expired is not a no: nothing was changed, and the same call may be made again with a new validity.
  if (status === 410) throw new ToolUnavailable(code, message);
  throw new ToolRefusal(code, message);
}

/** A refused connection is the one network error that proves nothing arrived. */
export function wasNeverSent(error: unknown): boolean {
  return error instanceof TypeError && hasCode(error.cause, 'ECONNREFUSED');
}

function hasCode(cause: unknown, code: string): boolean {
  // Node tries every address of a name and then reports all failures together.
  if (cause instanceof AggregateError) {
    return cause.errors.length > 0 && cause.errors.every((one) => hasCode(one, code));
  }
  return cause instanceof Error && 'code' in cause && cause.code === code;
}
