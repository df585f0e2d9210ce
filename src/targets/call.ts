import { request as overHttp, type ClientRequest, type IncomingMessage } from 'node:http';
import { request as overHttps } from 'node:https';
import type { LookupFunction } from 'node:net';
import {
  addressInUrl,
  AddressNotAllowedError,
  checkedLookup,
  type AddressRule,
} from './addresses.ts';

export type Call = {
  method: 'GET' | 'POST' | 'PUT';
  url: URL;
  headers: Readonly<Record<string, string>>;
  body?: string;
  /** No byte leaves after it, and no answer is waited for. Milliseconds since the epoch. */
  deadline: number;
  /** Default: every address. */
  allowed?: AddressRule | undefined;
  /** Default: that of the system. */
  lookup?: LookupFunction | undefined;
};

/** How a call went. `not_sent`: no byte of it has left. `lost`: it may have arrived, and no whole answer came. */
export type CallOutcome =
  | { kind: 'answered'; status: number; body: string }
  | { kind: 'not_sent' | 'lost'; reason: string };

/** Longest answer that is read, in bytes. */
const MAX_ANSWER_BYTES = 16 * 1024 * 1024;

/**
 * One HTTP call that never throws and never follows a redirect. Each has a connection of its own: the address that was
 * checked is the one that is used, and a connection that never stood proves that nothing was sent.
 */
export function call({ url, body, deadline, ...rest }: Call): Promise<CallOutcome> {
  const left = deadline - Date.now();
  const literal = addressInUrl(url);
  if (left <= 0) return Promise.resolve({ kind: 'not_sent', reason: 'deadline_passed' });
  if (literal !== undefined && rest.allowed?.(literal) === false) {
    return Promise.resolve({ kind: 'not_sent', reason: 'address_not_allowed' });
  }

  const request = open(url, rest);
  if (request === undefined) {
    return Promise.resolve({ kind: 'not_sent', reason: 'unusable_request' });
  }
  const { promise, resolve } = Promise.withResolvers<CallOutcome>();
  let stands = false;
  const fail = (reasons: { before: string; after: string }): void => {
    resolve(
      stands
        ? { kind: 'lost', reason: reasons.after }
        : { kind: 'not_sent', reason: reasons.before },
    );
    request.destroy();
  };
  const timer = setTimeout(() => fail({ before: 'timed_out', after: 'timed_out' }), left);
  request.once('socket', (socket) => {
    socket.once(url.protocol === 'https:' ? 'secureConnect' : 'connect', () => {
      stands = true;
    });
  });
  request.once('response', (response) => {
    read(response).then(
      (text) => resolve({ kind: 'answered', status: response.statusCode ?? 0, body: text }),
      () => fail({ before: 'no_answer', after: 'no_answer' }),
    );
  });
  request.on('error', (error) => {
    const blocked = error instanceof AddressNotAllowedError;
    fail({ before: blocked ? error.code : 'unreachable', after: 'no_answer' });
  });
  request.end(body);
  return promise.finally(() => {
    clearTimeout(timer);
    request.destroy();
  });
}

/** Undefined when a header cannot be sent as it is. */
function open(
  url: URL,
  { method, headers, allowed, lookup }: Omit<Call, 'url' | 'deadline'>,
): ClientRequest | undefined {
  const checked = allowed === undefined ? lookup : checkedLookup(allowed, lookup);
  const options = {
    method,
    headers,
    agent: false,
    ...(checked === undefined ? {} : { lookup: checked }),
  } as const;
  try {
    return url.protocol === 'https:' ? overHttps(url, options) : overHttp(url, options);
  } catch {
    return undefined;
  }
}

/** @throws Error when the answer ends early or is longer than anything we ask for */
async function read(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_ANSWER_BYTES) throw new RangeError('the answer is too long');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
