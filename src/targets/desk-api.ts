import { TurnkeeperError, type SendResult } from '../contracts/index.ts';
import { call, type Call, type CallOutcome } from './call.ts';

/** Where a ticketing system is and how we show who we are. */
export type DeskPlace = { url: URL; headers: Readonly<Record<string, string>> };

type Failure = Exclude<SendResult, { kind: 'sent' }>;

/** A call to a ticketing system that did not bring what it was made for, with what this means for the message. */
export class DeskCallError extends TurnkeeperError {
  readonly code = 'desk_call';
  readonly failure: Failure;

  constructor(failure: Failure) {
    super(`the ticketing system did not do it: ${failure.reason}`);
    this.failure = failure;
  }
}

/** Answers that say nothing was done, and that it may be asked again. */
const TRY_AGAIN: Record<number, string> = {
  401: 'unauthorized',
  403: 'unauthorized',
  408: 'try_later',
  409: 'ticket_changed',
  425: 'try_later',
  429: 'rate_limited',
};
const GONE = [404, 410];

/** What an answer that is no success means for what was asked. Undefined for a success. */
export function failureOf(outcome: CallOutcome): Failure | undefined {
  if (outcome.kind !== 'answered') {
    return { kind: outcome.kind === 'lost' ? 'unknown' : 'not_sent', reason: outcome.reason };
  }
  const { status } = outcome;
  if (status >= 200 && status < 300) return undefined;
  const again = TRY_AGAIN[status];
  if (again !== undefined) return { kind: 'not_sent', reason: again };
  if (status >= 300 && status < 400) return { kind: 'refused', reason: 'redirected' };
  if (status >= 400 && status < 500) {
    return { kind: 'refused', reason: GONE.includes(status) ? 'ticket_deleted' : `http_${status}` };
  }
  return { kind: 'unknown', reason: `http_${status}` };
}

/** The JSON calls of one delivery. None begins after the deadline. Each throws DeskCallError. */
export class DeskApi {
  readonly #place: DeskPlace;
  readonly #deadline: number;

  constructor(place: DeskPlace, deadline: number) {
    this.#place = place;
    this.#deadline = deadline;
  }

  async read(path: string): Promise<unknown> {
    return this.#harmless('GET', path);
  }

  /** A change that may be made twice: whatever becomes of it, the message itself was not sent. */
  async change(method: 'POST' | 'PUT', path: string, body: object): Promise<void> {
    await this.#harmless(method, path, body);
  }

  /** The message. Once it may have arrived, only a re-read can tell. */
  async write(method: 'POST' | 'PUT', path: string, body: object): Promise<unknown> {
    const outcome = await this.#call(method, path, body);
    const failure = failureOf(outcome);
    if (failure !== undefined) throw new DeskCallError(failure);
    return jsonOf(outcome, 'unknown');
  }

  async #harmless(method: Call['method'], path: string, body?: object): Promise<unknown> {
    const outcome = await this.#call(method, path, body);
    const failure = failureOf(outcome);
    if (failure === undefined) return jsonOf(outcome, 'not_sent');
    if (failure.kind === 'refused') throw new DeskCallError(failure);
    throw new DeskCallError({ kind: 'not_sent', reason: failure.reason });
  }

  #call(method: Call['method'], path: string, body?: object): Promise<CallOutcome> {
    const { url, headers } = this.#place;
    const text = body === undefined ? undefined : JSON.stringify(body);
    return call({
      method,
      url: new URL(`${url.pathname.replace(/\/$/, '')}${path}`, url),
      deadline: this.#deadline,
      headers: {
        ...headers,
        accept: 'application/json',
        ...(text === undefined
          ? {}
          : {
              'content-type': 'application/json',
              'content-length': String(Buffer.byteLength(text)),
            }),
      },
      ...(text === undefined ? {} : { body: text }),
    });
  }
}

/** Nothing of an unreadable answer is repeated: it may hold what a customer wrote. */
function jsonOf(outcome: CallOutcome, meaning: 'not_sent' | 'unknown'): unknown {
  try {
    return outcome.kind === 'answered' && outcome.body !== '' ? JSON.parse(outcome.body) : null;
  } catch {
    throw new DeskCallError({ kind: meaning, reason: 'unreadable_answer' });
  }
}
