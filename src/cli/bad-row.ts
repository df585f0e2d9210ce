import { ticketMessageSchema, type TicketMessage } from '../contracts/index.ts';
import { redactText } from '../telemetry/index.ts';
import type { Row } from './message-rows.ts';
import { shorten } from './visible-text.ts';

/** A row that cannot be a ticket message: where it stands, which field, what it holds, what would do. */
export type BadRow = { line: number; field: string; value: string; fix: string };

/** The message of a row, or what is wrong with it. */
export function messageOf(row: Row): TicketMessage | BadRow {
  if ('broken' in row) {
    return { line: row.line, field: 'row', value: row.broken, fix: redactText(row.fix) };
  }
  const message = ticketMessageSchema.safeParse(row.value);
  // As it was written: the intake reads it once more, and what it cuts must be cut once.
  if (message.success) return row.value as TicketMessage;
  const [issue] = message.error.issues;
  const path = issue?.path ?? [];
  if (path.length === 0) {
    return { line: row.line, field: 'row', value: kindOf(row.value), fix: 'must be a JSON object' };
  }
  const value = path.reduce<unknown>((within, name) => at(within, name), row.value);
  return {
    line: row.line,
    field: path.join('.'),
    value: value === undefined ? 'missing' : shorten(redactText(JSON.stringify(value)), 80),
    fix: FIXES[path.join('.')] ?? issue?.message ?? '',
  };
}

function kindOf(value: unknown): string {
  if (Array.isArray(value)) return 'an array';
  return value === null ? 'null' : `a ${typeof value}`;
}

function at(within: unknown, name: PropertyKey): unknown {
  return typeof within === 'object' && within !== null
    ? (within as Record<PropertyKey, unknown>)[name]
    : undefined;
}

/** What each field must be, in the words of somebody who writes the file. */
const FIXES: Readonly<Record<string, string>> = {
  source:
    'must be the name of the ticketing system: 1-32 characters of a-z, 0-9, "-" and "_", such as "zendesk"',
  conversationId: 'must be the id of the thread: a text of 1-512 characters',
  messageId:
    'must be the id of the message: a text of 1-512 characters, unique within its conversation',
  deliveryId: 'must be a text of 1-512 characters, or left out',
  text: 'must be a text',
  requester: 'must be an object such as {"id": "ana@example.com", "assurance": "verified"}',
  'requester.id': 'must be the id of the person: a text of 1-320 characters',
  'requester.assurance': 'must be one of none, claimed, verified',
  subject: 'must be a text of at most 1,000 characters, or left out',
  channel: 'must be a text of at most 64 characters, or left out',
};

export function badRowText({ line, field, value, fix }: BadRow): string {
  return `line ${line}: ${field} is ${value}: ${fix}`;
}
