import {
  acceptedMessageSchema,
  accountSchema,
  approvalSchema,
  verificationReadSchema,
  type Approval,
  type Fact,
  type Park,
  type TurnEvent,
} from '../contracts/index.ts';
import { intentOf, type ClaimedTurn, type HistoryEntry, type Signal } from '../loop/index.ts';
import { decodeEvent } from './event-codec.ts';

/** Reads the answer of claim-turn, or of the claim a commit made. */
export function readClaimedTurn(
  conversationId: string,
  { jobId, workerId }: { jobId: string; workerId: string },
  reply: readonly unknown[],
): ClaimedTurn {
  const [, token, epoch, turnId, owner, head, mail, events, history, facts, approval] = reply;
  const fields = hash(head);
  const messages = strings(mail).map((json) => acceptedMessageSchema.parse(JSON.parse(json)));
  const intent = fields['intent'] || intentOf(conversationId, messages[0]?.id ?? '');
  const record = readEvents(strings(events));
  const parked = fields['parkDueAt'] ? parkOf(record) : undefined;
  const decided = readApproval(fields['approval'] ?? '', hash(approval));
  return {
    claim: {
      conversationId,
      turnId: String(turnId),
      token: String(token),
      intent,
      jobId,
      workerId,
    },
    epoch: Number(epoch),
    intent,
    owner: owner === 'human' ? 'human' : 'agent',
    messages,
    events: record,
    facts: Object.fromEntries(
      Object.entries(hash(facts)).map(([resource, json]) => [resource, JSON.parse(json) as Fact]),
    ),
    history: strings(history).map((json) => JSON.parse(json) as HistoryEntry),
    ...(parked === undefined ? {} : { park: parked, reads: readsOf(fields, parked.number) }),
    ...(decided === undefined ? {} : { approval: decided }),
    ...(fields['poisoned'] === '1' ? { poisoned: true } : {}),
    ...(fields['signal'] ? { signal: JSON.parse(fields['signal']) as Signal } : {}),
    ...(fields['limited'] ? { limited: limitsOf(JSON.parse(fields['limited'])) } : {}),
    ...(fields['account'] ? { account: accountSchema.parse(JSON.parse(fields['account'])) } : {}),
  };
}

function limitsOf(flat: unknown): Record<string, number> {
  return Object.fromEntries(
    Object.entries(hash(flat)).map(([account, until]) => [account, Number(until)]),
  );
}

export function readEvents(list: readonly string[]): TurnEvent[] {
  return list.map(decodeEvent);
}

/** What a record says its turn waits for, or waited for last. */
export function parkOf(events: readonly TurnEvent[]): Park | undefined {
  return events.findLast((event) => event.type === 'turn_parked')?.park;
}

/** The re-reads stored for a park, in the order they were made. */
export function readsOf(
  fields: Record<string, string>,
  park: number,
): NonNullable<ClaimedTurn['reads']> {
  const prefix = `read:${park}:`;
  return Object.entries(fields)
    .filter(([field]) => field.startsWith(prefix))
    .toSorted(([a], [b]) => Number(a.slice(prefix.length)) - Number(b.slice(prefix.length)))
    .map(([, json]) => {
      const { read, final } = JSON.parse(json) as { read: unknown; final: boolean };
      return { read: verificationReadSchema.parse(read), final };
    });
}

/** @param fields the flat hash of decide-approval.lua and park-turn.lua */
export function readApproval(id: string, fields: Record<string, string>): Approval | undefined {
  if (fields['request'] === undefined) return undefined;
  const request = JSON.parse(fields['request']) as Record<string, unknown>;
  const { status, by, decidedAt, comment } = fields;
  return approvalSchema.parse({
    ...request,
    id,
    status,
    ...(status === 'pending' ? {} : { by, decidedAt: Number(decidedAt), comment }),
  });
}

/** A flat Redis hash (or ioredis' object of it) as an object. */
export function hash(flat: unknown): Record<string, string> {
  if (!Array.isArray(flat)) return { ...(flat as Record<string, string>) };
  const fields: Record<string, string> = {};
  for (let index = 0; index < flat.length; index += 2) {
    fields[String(flat[index])] = String(flat[index + 1]);
  }
  return fields;
}

function strings(list: unknown): string[] {
  return Array.isArray(list) ? list.map(String) : [];
}
