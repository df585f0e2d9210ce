import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import type { Outcome, StopReason, TicketMessage } from '../../../src/index.ts';
import { parseWorld, type World } from '../order-service/world.ts';
import { describeIssues } from '../service/input-error.ts';
import { readSeedFile } from '../service/seed-file.ts';

const WORLD_FILE = fileURLToPath(new URL('../fixtures/world.json', import.meta.url));
const TICKETS_FILE = fileURLToPath(new URL('../fixtures/tickets.jsonl', import.meta.url));

/** The endings a ticket of the example may name. */
const ENDINGS = {
  completed: ['replied', 'asked_customer', 'no_answer', 'declined', 'no_reply_needed'],
  escalated: ['model_escalated', 'verification_failed', 'approval_rejected', 'human_takeover'],
} as const satisfies Partial<Record<Outcome, readonly StopReason[]>>;

const ending = <O extends keyof typeof ENDINGS>(outcome: O) =>
  z.strictObject({ outcome: z.literal(outcome), stopReason: z.enum(ENDINGS[outcome]) });
const expectation = z.union(
  [
    ending('completed'),
    ending('escalated'),
    z.strictObject({ phase: z.literal('awaiting_approval') }),
  ],
  {
    error: `use {"phase": "awaiting_approval"} or {"outcome", "stopReason"} with one of ${Object.entries(
      ENDINGS,
    )
      .flatMap(([outcome, reasons]) => reasons.map((reason) => `${outcome}/${reason}`))
      .join(', ')}`,
  },
);
/** How a turn must end, or where it must wait. */
export type Expectation = z.infer<typeof expectation>;

/** A text, or the parts of one that would be tedious to read in full. */
const text = z.union([
  z.string(),
  z
    .array(z.strictObject({ text: z.string(), times: z.int().min(1).max(10_000) }))
    .transform((parts) => parts.map((part) => part.text.repeat(part.times)).join('')),
]);

const followUp = z.union([
  z.strictObject({ afterMs: z.int().min(0).max(2_000), text, expect: expectation }),
  /** The first message once more, as a source does that got no answer: it must not become a turn. */
  z.strictObject({ afterMs: z.int().min(0).max(2_000), redelivered: z.literal(true) }),
]);

const ticketSchema = z.strictObject({
  id: z.string().regex(/^[a-z0-9-]+$/),
  conversationId: z.string().min(1),
  requester: z.strictObject({
    id: z.string().min(1),
    assurance: z.enum(['none', 'claimed', 'verified']),
  }),
  channel: z.enum(['email', 'chat', 'web']),
  subject: z.string(),
  text,
  followUps: z.array(followUp).default([]),
  /** What the person says who is asked to approve; nobody answers when it is left out. */
  approval: z.enum(['approved', 'rejected']).optional(),
  expect: expectation,
  /** The whole ledger of the conversation at the end, in the order of the acts. Amounts in cents. */
  effects: z.array(
    z.strictObject({
      tool: z.enum(['cancel_order', 'issue_refund']),
      resource: z.string(),
      amount: z.int().optional(),
      status: z.enum(['applied', 'rejected', 'unknown', 'verified', 'not_landed']),
    }),
  ),
  note: z.string().min(1),
});
export type Ticket = z.infer<typeof ticketSchema>;

/** A message of a ticket, when it comes, and how its turn must end; without `expect` it has no turn of its own. */
export type TicketPart = { afterMs: number; message: TicketMessage; expect?: Expectation };

/** The messages of a ticket as a producer hands them in, the first one at 0 ms. */
export function messagesOf(ticket: Ticket): TicketPart[] {
  const { id, conversationId, requester, channel, subject, expect } = ticket;
  const part = (number: number, afterMs: number, words: string): Omit<TicketPart, 'expect'> => {
    const message = {
      source: 'technova',
      conversationId,
      messageId: `${id}-${number}`,
      text: words,
      requester,
      channel,
    };
    return { afterMs, message: number === 1 && subject !== '' ? { ...message, subject } : message };
  };
  return [
    { ...part(1, 0, ticket.text), expect },
    ...ticket.followUps.map((next, index) =>
      'redelivered' in next
        ? part(1, next.afterMs, ticket.text)
        : { ...part(index + 2, next.afterMs, next.text), expect: next.expect },
    ),
  ];
}

/** Reads the tickets. @throws Error naming file, line, field, value and what to write instead */
export function readTickets(file = TICKETS_FILE): Ticket[] {
  const name = basename(file);
  const tickets = readFileSync(file, 'utf8')
    .split('\n')
    .flatMap((line, index) =>
      line.trim() === '' ? [] : [readTicket(line, `${name} line ${index + 1}`)],
    );
  for (const field of ['id', 'conversationId'] as const) {
    const values = tickets.map((ticket) => ticket[field]);
    const twice = values.find((value, index) => values.indexOf(value) !== index);
    if (twice !== undefined)
      throw new Error(`${name}: ${field} ${twice} is used twice; give every ticket its own`);
  }
  return tickets;
}

function readTicket(line: string, where: string): Ticket {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch (error) {
    throw new Error(
      `${where} is not JSON (${error instanceof Error ? error.message : String(error)}); write one object a line`,
    );
  }
  const ticket = ticketSchema.safeParse(value);
  if (ticket.success) return ticket.data;
  throw new Error(`${where}: ${describeIssues(ticket.error, value).join('; ')}`);
}

const DAY_MS = 86_400_000;

/**
 * Reads the shop's orders and moves their dates by whole days, so that what was delivered five days before the file's
 * `today` was delivered five days ago: return windows then mean the same on every day. `now` in epoch ms.
 */
export function readWorld(now: number = Date.now(), file = WORLD_FILE): World {
  const value = readSeedFile(file);
  const { today } = z.object({ today: z.iso.date() }).parse(value);
  const movedMs = Math.floor((now - Date.parse(today)) / DAY_MS) * DAY_MS;
  const moved = (instant: string): string => new Date(Date.parse(instant) + movedMs).toISOString();
  const { orders } = parseWorld(value, basename(file));
  return {
    orders: orders.map((order) => ({
      ...order,
      placedAt: moved(order.placedAt),
      deliveredAt: order.deliveredAt === null ? null : moved(order.deliveredAt),
    })),
  };
}
