import type { LogEntry } from './event-log.ts';

export interface ServiceReply {
  status: number;
  /** Whether the answer was an earlier one, given again for the same idempotency key. */
  replayed: boolean;
  body: unknown;
}

export interface SendOptions {
  key?: string;
  /** Epoch ms. */
  validUntil?: number;
  signal?: AbortSignal;
}

/** Speaks to either service over HTTP, for tests, the demo and the judge. A dropped connection rejects, as `fetch` does. */
export class ServiceClient {
  readonly url: string;

  constructor(url: string) {
    this.url = url;
  }

  async get(path: string): Promise<ServiceReply> {
    return this.#send('GET', path, undefined, {});
  }

  async post(path: string, body?: unknown, options: SendOptions = {}): Promise<ServiceReply> {
    return this.#send('POST', path, body, options);
  }

  async put(path: string, body: unknown): Promise<ServiceReply> {
    return this.#send('PUT', path, body, {});
  }

  /** Waits for an event such as `applied:refund:4482`; one that has happened already answers at once. */
  async waitFor(event: string, timeoutMs = 10_000): Promise<LogEntry> {
    const query = new URLSearchParams({ wait: event, timeoutMs: String(timeoutMs) });
    const { status, body } = await this.get(`/admin/events?${query.toString()}`);
    if (status !== 200) throw new Error(`${event} did not happen within ${timeoutMs} ms`);
    return body as LogEntry;
  }

  async log(
    filter: { kind?: string; operation?: string; subject?: string } = {},
  ): Promise<LogEntry[]> {
    const { body } = await this.get(`/log?${new URLSearchParams(filter).toString()}`);
    return (body as { entries: LogEntry[] }).entries;
  }

  async #send(
    method: string,
    path: string,
    body: unknown,
    options: SendOptions,
  ): Promise<ServiceReply> {
    const headers = new Headers();
    if (body !== undefined) headers.set('content-type', 'application/json');
    if (options.key !== undefined) headers.set('idempotency-key', options.key);
    if (options.validUntil !== undefined) headers.set('x-valid-until', String(options.validUntil));
    const response = await fetch(this.url + path, {
      method,
      headers,
      body: body === undefined ? null : JSON.stringify(body),
      signal: options.signal ?? null,
    });
    const replayed = response.headers.get('idempotency-replayed') === 'true';
    return { status: response.status, replayed, body: await response.json() };
  }
}
