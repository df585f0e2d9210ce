import { createHash } from 'node:crypto';

/** A delivery as it arrived. */
export type WebhookRequest = {
  method: string;
  /** As the sender called it, query included: built on the configured public base, never on the Host header. */
  url: string;
  /** Names in lower case. */
  headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  query: Readonly<Record<string, unknown>>;
  /** The bytes that were sent: what is signed. */
  rawBody: Buffer;
  /** Milliseconds since the epoch. */
  receivedAt: number;
};

/** A header that came exactly once. */
export function header(request: WebhookRequest, name: string): string | undefined {
  const value = request.headers[name];
  return typeof value === 'string' ? value : undefined;
}

/** Stands for a message whose system gives it no id, until it has been read again. */
export function bodyKey(request: WebhookRequest): string {
  return `body-${createHash('sha256').update(request.rawBody).digest('hex')}`;
}
