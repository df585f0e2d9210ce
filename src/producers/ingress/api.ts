import { InvalidInputError, TurnkeeperError } from '../../contracts/index.ts';
import { call } from '../../targets/call.ts';
import { endpointOf } from '../../targets/endpoint.ts';
import type { Http } from './resolve.ts';

/** Reads from the API of a system. `post` is for systems that search by POST; nothing is ever changed through it. */
export type SourceApi = Http & { post?: (path: string, body: object) => Promise<unknown> };

export type HttpApiOptions = {
  /** The root that paths are appended to; what it is for a system says the documentation of `sources`. */
  url: string;
  /** How we show who we are, such as `{ authorization: 'Bearer …' }`. */
  headers: Readonly<Record<string, string>>;
  /** For one call. Milliseconds, default 15,000. */
  timeoutMs?: number;
  /** Allows plain http. */
  development?: boolean;
};

const TIMEOUT_MS = 15_000;

/** The API of a system did not answer what was asked. Names the system and what it did; nothing of an answer is repeated. */
export class SourceApiError extends TurnkeeperError {
  readonly code = 'source_api';

  constructor(url: URL, what: string) {
    super(`${url.host}${url.pathname} ${what}; check the url and headers of its api`);
  }
}

/** Reads over HTTP. @throws InvalidInputError when the URL cannot be used; its calls throw SourceApiError */
export function httpApi(options: HttpApiOptions): Required<SourceApi> {
  const { headers, timeoutMs = TIMEOUT_MS, development = false } = options;
  const root = endpointOf('url', options.url, development);
  if (root.search !== '' || root.hash !== '') {
    throw new InvalidInputError('url', options.url, 'leave out what begins with "?" or "#"');
  }

  const ask = async (method: 'GET' | 'POST', path: string, body?: object): Promise<unknown> => {
    const url = new URL(`${root.origin}${root.pathname.replace(/\/$/, '')}${path}`);
    const text = body === undefined ? undefined : JSON.stringify(body);
    const outcome = await call({
      ...{ method, url, deadline: Date.now() + timeoutMs },
      headers: {
        // Some refuse to answer a caller without a name.
        ...{ accept: 'application/json', 'user-agent': 'turnkeeper' },
        ...headers,
        ...(text === undefined
          ? {}
          : {
              'content-type': 'application/json',
              'content-length': String(Buffer.byteLength(text)),
            }),
      },
      ...(text === undefined ? {} : { body: text }),
    });
    if (outcome.kind !== 'answered') {
      throw new SourceApiError(url, `did not answer (${outcome.reason})`);
    }
    if (outcome.status < 200 || outcome.status > 299) {
      throw new SourceApiError(url, `answered ${outcome.status}`);
    }
    try {
      return JSON.parse(outcome.body);
    } catch {
      throw new SourceApiError(url, 'answered with something that is not JSON');
    }
  };
  return {
    get: (path) => ask('GET', path),
    post: (path, body) => ask('POST', path, body),
  };
}
