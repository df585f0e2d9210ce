import type { DeliveryTarget } from '../../../src/contracts/index.ts';
import type { HttpApiOptions } from '../../../src/producers/ingress/index.ts';
import type { Book, FakeMessage, FakeTicket, Life } from './book.ts';

export type ApiAnswer = { status: number; body: unknown };

export type ApiCall = {
  /** What the parentheses of the path hold. */
  params: readonly string[];
  query: URLSearchParams;
  /** The parsed JSON of the request. A handler that throws a ZodError over it answers 422. */
  body: unknown;
  book: Book;
  /** Our message is in the book: its echo goes out. */
  posted(message: FakeMessage): void;
  /** How the ticket stands changed: where the system has an event for that, it goes out. */
  changed(ticket: FakeTicket, before: string): void;
};

export type Route = {
  method: 'GET' | 'POST' | 'PUT';
  path: RegExp;
  /** `write` posts a message, `change` sets status or tags. */
  effect: 'read' | 'change' | 'write';
  handle(call: ApiCall): ApiAnswer;
};

/** One event of a desk. Copies of it have the same body; `copy` is 0 for the first. */
export type HookEvent = {
  body: object;
  headers(body: string, copy: number): Record<string, string>;
};

export type HookAnswer = { status: number | 'no_answer'; retryAfterMs?: number };

/** A ticketing system as it is documented, over a book of tickets. */
export type Vendor = {
  firstIds: { ticket: number; message: number };
  /** The system's words for how a ticket stands; the first is that of a new one. */
  statuses: Record<Exclude<Life, 'deleted'>, string>;
  /** Statuses that a message of the customer turns into that of an open ticket. */
  reopens: readonly string[];
  authorised(headers: Record<string, string | string[] | undefined>): boolean;
  routes: readonly Route[];
  messageEvent(message: FakeMessage, ticket: FakeTicket): HookEvent;
  /** The ticket stands otherwise than `before`, was merged, or was deleted. */
  statusEvent?(ticket: FakeTicket, before: string): HookEvent;
  /** How events name us as an author. */
  ownAuthors: readonly string[];
  /** How long it waits for an answer to an event. Milliseconds. */
  hookTimeoutMs: number;
  /** How long it waits before it sends an event again after this answer; undefined: it gives up. */
  retryAfter(attempt: number, answer: HookAnswer): number | undefined;
  /** Our client, pointed at the fake. */
  target(url: string): DeliveryTarget;
  /** How a source reads from the fake. */
  api(url: string): HttpApiOptions;
  reference(message: FakeMessage): string | undefined;
};

export const SECRET = 'fake-desk-signing-secret';
export const CUSTOMER_MAIL = 'customer.one@example.com';

export function seconds(ms: number): number {
  return Math.floor(ms / 1_000);
}

export function iso(ms: number): string {
  return new Date(ms).toISOString();
}

export function notFound(body: unknown = { error: 'not found' }): ApiAnswer {
  return { status: 404, body };
}

/** The ticket a call is about, unless it was deleted. */
export function ticketOf({ book, params }: ApiCall): FakeTicket | undefined {
  const ticket = book.tickets.get(Number(params[0]));
  return ticket?.life === 'deleted' ? undefined : ticket;
}

/** The tickets that changed since a moment, in milliseconds, the newest change first. */
export function changedSince({ book }: ApiCall, since: number): FakeTicket[] {
  return [...book.tickets.values()]
    .filter(({ updatedAt, life }) => updatedAt >= since && life !== 'deleted')
    .toSorted((one, other) => other.updatedAt - one.updatedAt);
}
