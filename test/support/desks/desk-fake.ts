/**
 * Ticketing systems to test against, over real HTTP on 127.0.0.1: their documented API and their webhooks.
 *
 *     const desk = await startDeskFake('zendesk', { hooks: { url: ingressUrl, duplicates: 0.3, reorderMs: 50 } });
 *     const id = desk.openTicket();            // no event yet
 *     desk.say(id, 'Where is my order?');      // the customer writes: a signed event goes to `hooks.url`
 *     await desk.hooks.settled();              // every event was answered or given up on
 *     desk.replies(id);                        // what the customer got from us: the judge of "one public reply"
 *
 * - `desk.target()` is our client, set up for this desk; `desk.secret` signs its events, in which we are one of
 *   `desk.ownAuthors`.
 * - `httpApi(desk.api())` is how a source reads from it again, also what an event never brought.
 * - What our client posts comes back as an event too, as the desk would echo it: also notes, also twice.
 * - Events are retried as the system documents it, `hooks.paceMs` milliseconds for each second between two tries.
 *   What was given up on is counted in `hooks.lost`, and goes out again with `hooks.redeliverLost()`.
 * - `desk.hooks.options.url` can be set or changed at any time, e.g. when the API comes up again on another port.
 * - `desk.fail({ how: 'cut_after' }, { on: 'write' })` spoils the next call of that effect; the option `faults` is asked
 *   for all others. See `Fault`.
 * - `desk.calls` is every API call that arrived, `desk.hooks.log` every try to hand over an event.
 * - `await desk.when(() => desk.replies(id).length > 0)` waits for a message of ours.
 * - Everything random comes from `hooks.seed`.
 */
import type { DeliveryTarget } from '../../../src/contracts/index.ts';
import type { HttpApiOptions } from '../../../src/producers/ingress/index.ts';
import { serveApi, type ApiLogEntry, type Fault, type FaultChooser } from './api-server.ts';
import { Book, type FakeMessage, type FakeTicket, type Life } from './book.ts';
import { chatwoot } from './chatwoot.ts';
import { Hooks, type HookOptions } from './hooks.ts';
import { intercom } from './intercom.ts';
import { SECRET, type Route, type Vendor } from './vendor.ts';
import { zammad } from './zammad.ts';
import { zendesk } from './zendesk.ts';

export const DESK_KINDS = ['zendesk', 'zammad', 'chatwoot', 'intercom'] as const;
export type DeskKind = (typeof DESK_KINDS)[number];

const VENDORS: Record<DeskKind, Vendor> = { zendesk, zammad, chatwoot, intercom };

export type DeskFakeOptions = {
  hooks?: HookOptions;
  /** Asked at every call that no `fail` was meant for. */
  faults?: FaultChooser;
};

/** Our client for a desk that another process runs. */
export function targetOf(kind: DeskKind, url: string): DeliveryTarget {
  return VENDORS[kind].target(url);
}

/** A message as it is seen in the desk. */
export type Posted = { id: string; text: string; reference: string | undefined };

export type DeskFake = {
  kind: DeskKind;
  url: string;
  /** With which the desk signs its events. */
  secret: string;
  /** How the desk's events name us as an author. */
  ownAuthors: readonly string[];
  hooks: Hooks;
  calls: readonly ApiLogEntry[];
  target(): DeliveryTarget;
  api(): HttpApiOptions;
  /** A ticket nobody wrote in yet. Answers its id. */
  openTicket(): string;
  /** The customer writes. Answers the message's id. */
  say(externalId: string, text: string): string;
  /** Somebody of the company writes. Answers the message's id. */
  sayAsHuman(externalId: string, text: string, open?: boolean): string;
  /** What somebody did in the desk; where the system has an event for it, that goes out. */
  change(
    externalId: string,
    change: Partial<Pick<FakeTicket, 'assignee' | 'status' | 'tags'>> & { life?: Life },
  ): void;
  ticket(externalId: string): FakeTicket;
  /** Spoils the next call, of any effect if none is named. */
  fail(fault: Fault, when?: { on?: Route['effect']; times?: number }): void;
  /** What the customer got from us, in order. */
  replies(externalId: string): Posted[];
  /** What only the people behind the desk got from us. */
  notes(externalId: string): Posted[];
  /** Resolves once this holds; looked at again after each message of ours. */
  when(ready: () => boolean): Promise<void>;
  close(): Promise<void>;
};

export async function startDeskFake(
  kind: DeskKind,
  options: DeskFakeOptions = {},
): Promise<DeskFake> {
  const vendor = VENDORS[kind];
  const book = new Book(vendor.firstIds, vendor.statuses.open);
  const hooks = new Hooks(vendor, options.hooks ?? {});
  const calls: ApiLogEntry[] = [];
  const planned: { fault: Fault; on: Route['effect'] | undefined; left: number }[] = [];

  const waiting = new Set<{ ready: () => boolean; resolve: () => void }>();

  const posted = (message: FakeMessage): void => {
    for (const one of waiting) if (one.ready()) one.resolve();
    hooks.emit(vendor.messageEvent(message, book.ticket(String(message.ticketId))));
  };
  const changed = (ticket: FakeTicket, before: string): void => {
    if (vendor.statusEvent !== undefined) hooks.emit(vendor.statusEvent(ticket, before));
  };
  const choose: FaultChooser = (entry) => {
    const plan = planned.find(({ on, left }) => left > 0 && (on ?? entry.effect) === entry.effect);
    if (plan === undefined) return options.faults?.(entry);
    plan.left -= 1;
    return plan.fault;
  };
  const write = (by: 'customer' | 'human', id: string, text: string, open: boolean): string => {
    const ticket = book.ticket(id);
    const before = ticket.status;
    const reopened = by === 'customer' && vendor.reopens.includes(before);
    if (reopened) Object.assign(ticket, { life: 'open', status: vendor.statuses.open });
    const message = book.add(ticket, { by, public: open, text, extra: {} });
    posted(message);
    if (reopened) changed(ticket, before);
    return String(message.id);
  };
  const ours = (externalId: string, open: boolean): Posted[] =>
    book
      .ticket(externalId)
      .messages.filter((message) => message.by === 'us' && message.public === open)
      .map((message) => ({
        id: String(message.id),
        text: message.text,
        reference: vendor.reference(message),
      }));

  const api = await serveApi(vendor, { book, posted, changed }, calls, choose);
  return {
    kind,
    url: api.url,
    secret: SECRET,
    ownAuthors: vendor.ownAuthors,
    hooks,
    calls,
    target: () => vendor.target(api.url),
    api: () => vendor.api(api.url),
    openTicket: () => String(book.open().id),
    say: (externalId, text) => write('customer', externalId, text, true),
    sayAsHuman: (externalId, text, open = true) => write('human', externalId, text, open),
    change(externalId, { life, ...rest }) {
      const ticket = book.ticket(externalId);
      const before = ticket.status;
      Object.assign(ticket, rest);
      if (life !== undefined) {
        ticket.life = life;
        if (life !== 'deleted') ticket.status = vendor.statuses[life];
      }
      book.touch(ticket);
      if (life !== undefined || rest.status !== undefined) changed(ticket, before);
    },
    ticket: (externalId) => book.ticket(externalId),
    fail: (fault, { on, times = 1 } = {}) => void planned.push({ fault, on, left: times }),
    replies: (externalId) => ours(externalId, true),
    notes: (externalId) => ours(externalId, false),
    when: (ready) =>
      ready() ? Promise.resolve() : new Promise((resolve) => void waiting.add({ ready, resolve })),
    async close() {
      await hooks.close();
      await api.close();
    },
  };
}
