import {
  deliverySchema,
  type AcceptedMessage,
  type Approval,
  type DeliveryKind,
  type DeliveryStatus,
  type EffectStatus,
  type LedgerRow,
  type Park,
  type TurnEvent,
} from '../contracts/index.ts';
import { fold, type TurnState } from '../loop/index.ts';
import { hash, readApproval, readEvents } from './claimed-turn.ts';
import { key } from './keys.ts';
import type { Store } from './store.ts';

export type TurnRecord = {
  turnId: string;
  conversationId: string;
  phase: TurnState['phase'];
  outcome: string | null;
  reason: string | null;
  startedAt: number;
  endedAt: number | null;
  park: Park | null;
  messages: AcceptedMessage[];
  events: TurnEvent[];
  state: TurnState;
};

export type DeliveryView = {
  id: string;
  kind: DeliveryKind;
  status: DeliveryStatus;
  text: string;
  turnId: string;
};

export type Blocked = {
  conversationId: string;
  turnId: string;
  phase: TurnState['phase'];
  since: number;
  /** Messages that wait behind the open turn. */
  behind: number;
  oldestWaitingSince: number | null;
  park: Park | null;
};

/** The read side for operators: never written from, never on the way of a turn. */
export class Records {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  async turn(turnId: string): Promise<TurnRecord | undefined> {
    const { redis } = this.#store;
    for (const tag of this.#store.tags()) {
      const [head, list] = await Promise.all([
        redis.hgetall(key(tag, 'turn', turnId)),
        redis.lrange(key(tag, 'events', turnId), 0, -1),
      ]);
      const fields = hash(head);
      const conversationId = fields['conversation'];
      if (conversationId === undefined) continue;
      const events = readEvents(list);
      const state = fold(events);
      const parked = fields['parkDueAt'] ? (JSON.parse(fields['park'] ?? 'null') as Park) : null;
      return {
        turnId,
        conversationId,
        phase: state.phase,
        outcome: fields['outcome'] ?? null,
        reason: fields['reason'] ?? null,
        startedAt: Number(fields['startedAt']),
        endedAt: fields['endedAt'] ? Number(fields['endedAt']) : null,
        park: parked,
        messages: await this.#messages(tag, conversationId, fields),
        events,
        state,
      };
    }
    return undefined;
  }

  async #messages(
    tag: string,
    conversationId: string,
    fields: Record<string, string>,
  ): Promise<AcceptedMessage[]> {
    if (fields['answered'] !== undefined) return JSON.parse(fields['answered']) as AcceptedMessage[];
    const count = Number(fields['messages'] ?? 1);
    const mail = await this.#store.redis.lrange(key(tag, 'mail', conversationId), 0, count - 1);
    return mail.map((json) => JSON.parse(json) as AcceptedMessage);
  }

  /** Newest first: the open turns, then the ended ones. */
  async turnIds(options: { limit: number; open?: boolean }): Promise<string[]> {
    const { redis } = this.#store;
    const ids: { id: string; at: number }[] = [];
    for (const tag of this.#store.tags()) {
      const open = await redis.zrange(key(tag, 'open'), '0', '-1');
      const openTurns = await Promise.all(
        open.slice(0, options.limit).map((conversation) => redis.hget(key(tag, 'conv', conversation), 'turn')),
      );
      ids.push(...openTurns.flatMap((id) => (id === null ? [] : [{ id, at: Infinity }])));
      if (options.open === true) continue;
      const ended = await redis.zrange(key(tag, 'ended'), '0', String(options.limit - 1), 'REV', 'WITHSCORES');
      ids.push(...pairs(ended).map(([id, score]) => ({ id, at: score })));
    }
    return ids
      .toSorted((a, b) => b.at - a.at)
      .slice(0, options.limit)
      .map(({ id }) => id);
  }

  /** The open turn of a conversation and every ended one that is still listed. */
  async turnsOf(conversationId: string, limit = 1_000): Promise<TurnRecord[]> {
    const ids = await this.turnIds({ limit });
    const turns = await Promise.all(ids.map((id) => this.turn(id)));
    return turns.flatMap((turn) => (turn?.conversationId === conversationId ? [turn] : []));
  }

  async operation(operation: string): Promise<LedgerRow | undefined> {
    for (const tag of this.#store.tags()) {
      const fields = hash(await this.#store.redis.hgetall(key(tag, 'op', operation)));
      if (fields['status'] !== undefined) return readRow(operation, fields);
    }
    return undefined;
  }

  /** What the agent really did in a conversation, oldest first. */
  async ledger(conversationId: string): Promise<LedgerRow[]> {
    const tag = this.#store.tagOf(conversationId);
    const operations = await this.#store.redis.zrange(key(tag, 'ops', conversationId), '0', '-1');
    const rows = await Promise.all(operations.map((operation) => this.operation(operation)));
    return rows.flatMap((row) => (row === undefined ? [] : [row]));
  }

  async approval(id: string): Promise<Approval | undefined> {
    for (const tag of this.#store.tags()) {
      const found = readApproval(id, hash(await this.#store.redis.hgetall(key(tag, 'approval', id))));
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /** Approvals nobody has decided yet, soonest expiry first. */
  async pendingApprovals(limit = 1_000): Promise<Approval[]> {
    const found: Approval[] = [];
    for (const tag of this.#store.tags()) {
      const ids = await this.#store.redis.zrange(key(tag, 'approvals'), '0', String(limit - 1));
      for (const id of ids) {
        const approval = await this.approval(id);
        if (approval !== undefined) found.push(approval);
      }
    }
    return found.toSorted((a, b) => a.expiresAt - b.expiresAt);
  }

  async delivery(conversationId: string, id: string): Promise<DeliveryView | undefined> {
    const tag = this.#store.tagOf(conversationId);
    const fields = hash(await this.#store.redis.hgetall(key(tag, 'delivery', id)));
    if (fields['record'] === undefined) return undefined;
    const { kind, text, turnId } = deliverySchema.parse(JSON.parse(fields['record']));
    return { id, kind, text, turnId, status: fields['status'] as DeliveryStatus };
  }

  /** Conversations in which somebody waits behind an open turn, or whose turn waits for a person; longest first. */
  async blocked(limit = 1_000): Promise<Blocked[]> {
    const { redis } = this.#store;
    const found: Blocked[] = [];
    for (const tag of this.#store.tags()) {
      const open = pairs(await redis.zrange(key(tag, 'open'), '0', String(limit - 1), 'WITHSCORES'));
      for (const [conversationId, since] of open) {
        const turnId = (await redis.hget(key(tag, 'conv', conversationId), 'turn')) ?? '';
        const [head, mail] = await Promise.all([
          redis.hgetall(key(tag, 'turn', turnId)),
          redis.lrange(key(tag, 'mail', conversationId), 0, -1),
        ]);
        const fields = hash(head);
        const waiting = mail.slice(Number(fields['messages'] ?? 1));
        const park = fields['parkDueAt'] ? (JSON.parse(fields['park'] ?? 'null') as Park) : null;
        if (waiting.length === 0 && park === null) continue;
        const first = waiting[0] === undefined ? null : (JSON.parse(waiting[0]) as AcceptedMessage);
        found.push({
          conversationId,
          turnId,
          phase: (fields['phase'] ?? 'queued') as TurnState['phase'],
          since,
          behind: waiting.length,
          oldestWaitingSince: first?.acceptedAt ?? null,
          park,
        });
      }
    }
    return found.toSorted((a, b) => (a.oldestWaitingSince ?? a.since) - (b.oldestWaitingSince ?? b.since));
  }
}

function readRow(operation: string, fields: Record<string, string>): LedgerRow {
  const row = JSON.parse(fields['row'] ?? '{}') as Pick<
    LedgerRow,
    'resource' | 'occurrence' | 'turnId' | 'callId' | 'arguments'
  >;
  const time = (name: string): number | undefined =>
    fields[name] ? Number(fields[name]) : undefined;
  const [validUntil, settledAt, verifiedAt] = ['validUntil', 'settledAt', 'verifiedAt'].map(time);
  return {
    operation,
    tool: fields['tool'] ?? '',
    intent: fields['intent'] ?? '',
    conversationId: fields['conversation'] ?? '',
    actionHash: fields['actionHash'] ?? '',
    status: fields['status'] as EffectStatus,
    attempts: Number(fields['attempts']),
    attemptedAt: Number(fields['attemptedAt']),
    ...row,
    ...(validUntil === undefined ? {} : { validUntil }),
    ...(settledAt === undefined ? {} : { settledAt }),
    ...(verifiedAt === undefined ? {} : { verifiedAt }),
    ...(fields['outcome'] === undefined ? {} : { outcome: JSON.parse(fields['outcome']) as unknown }),
  };
}

/** `[member, score, member, score]`, or RESP3's `[[member, score]]`, as pairs. */
function pairs(reply: readonly unknown[]): [string, number][] {
  if (Array.isArray(reply[0])) {
    return (reply as [string, unknown][]).map(([member, score]) => [member, Number(score)]);
  }
  const found: [string, number][] = [];
  for (let index = 0; index < reply.length; index += 2) {
    found.push([String(reply[index]), Number(reply[index + 1])]);
  }
  return found;
}
