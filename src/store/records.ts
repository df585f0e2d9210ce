import type { Redis } from 'ioredis';
import {
  acceptedMessageSchema,
  deliverySchema,
  verificationReadSchema,
  type AcceptedMessage,
  type Approval,
  type DeliveryKind,
  type DeliveryStatus,
  type EffectStatus,
  type LedgerRow,
  type Park,
  type Phase,
  type TurnEvent,
  type VerificationRead,
} from '../contracts/index.ts';
import { fold, type HistoryEntry, type Signal, type TurnState } from '../loop/index.ts';
import { hash, parkOf, readApproval, readEvents } from './claimed-turn.ts';
import { externalIdOf } from './conversation-id.ts';
import { decodeEvent } from './event-codec.ts';
import { key, laneTag } from './keys.ts';
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
  intent: string;
  /** The turn it repeats, and by which batch; how often its messages have been tried. */
  reprocessOf: string | null;
  batchId: string | null;
  attempt: number;
  /** The turn that repeats it. */
  reprocessedAs: string | null;
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
  /** The turn that holds it; empty when no worker has taken the conversation yet. */
  turnId: string;
  phase: TurnState['phase'];
  since: number;
  /** Messages that wait behind the open turn. */
  behind: number;
  oldestWaitingSince: number | null;
  park: Park | null;
  /** The first of those that wait behind. */
  waiting: AcceptedMessage[];
  holder: Holder;
};

/** Who has a conversation right now. */
export type Holder = {
  owner: 'agent' | 'human';
  /** `alive` and `lost` speak of the worker that claimed it last; a parked turn needs none. */
  worker: 'none' | 'alive' | 'lost';
  /** Kept back until then, after its workers got nowhere with it. */
  heldUntil: number | null;
  /** The person who took it over, and when; null when the agent itself handed it over. */
  takenBy: string | null;
  takenAt: number | null;
};

/** A turn that has ended, as lists need it. */
export type EndedTurn = {
  turnId: string;
  conversationId: string;
  outcome: string;
  reason: string;
  endedAt: number;
};

/** One entry of a turn's record, also if it cannot be read any more. */
export type RecordEntry = { event: TurnEvent } | { unreadable: string };

/** A turn exactly as it is stored: for those who ask whether the record itself is whole. */
export type TurnOnRecord = {
  turnId: string;
  conversationId: string;
  /** As the head says; the events may tell otherwise when some are missing. */
  phase: string;
  outcome: string | null;
  reason: string | null;
  startedAt: number;
  endedAt: number | null;
  /** It is the turn its conversation works on. */
  open: boolean;
  park: Park | null;
  messages: AcceptedMessage[];
  entries: RecordEntry[];
  /** Re-reads the verification worker stored while the turn was parked, oldest first. */
  storedReads: StoredRead[];
  holder: Holder;
  /** The stop somebody asked for, also one that came too late. */
  request: Signal | null;
};

/** A re-read made for a parked turn; the turn takes it in when it wakes. `park`: in which of its waits. */
export type StoredRead = { park: number; read: VerificationRead; final: boolean };

export type ConversationView = {
  conversationId: string;
  openTurn: string | null;
  /** The newest turn that ended and is still listed. */
  lastTurn: string | null;
  waiting: number;
  oldestWaitingSince: number | null;
  /** When its last message came in. */
  acceptedAt: number | null;
  holder: Holder;
};

/** The read side for operators: never written from, never on the way of a turn. */
export class Records {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  async turn(turnId: string): Promise<TurnRecord | undefined> {
    const stored = await this.#stored(turnId);
    if (stored === undefined) return undefined;
    const events = readEvents(stored.list);
    const state = fold(events);
    const { intent } = state;
    return { ...(await this.#head(stored, events)), phase: state.phase, events, state, intent };
  }

  /** A turn as it is stored, readable or not. */
  async onRecord(turnId: string): Promise<TurnOnRecord | undefined> {
    const stored = await this.#stored(turnId);
    if (stored === undefined) return undefined;
    const { tag, fields, conversationId } = stored;
    const conversation = hash(await this.#store.redis.hgetall(key(tag, 'conv', conversationId)));
    const entries = stored.list.map(readEntry);
    const events = entries.flatMap((entry) => ('event' in entry ? [entry.event] : []));
    return {
      ...(await this.#head(stored, events)),
      phase: headPhase(fields),
      open: conversation['turn'] === turnId,
      entries,
      storedReads: storedReads(fields),
      request: readSignal(
        conversation['turn'] === turnId ? conversation['signal'] : fields['signal'],
      ),
      holder: await this.#holder(tag, conversation),
    };
  }

  /** Head and events of a turn as they lie in Redis. */
  async #stored(turnId: string): Promise<StoredTurn | undefined> {
    const { redis } = this.#store;
    for (const tag of this.#store.tags()) {
      const [head, list] = await Promise.all([
        redis.hgetall(key(tag, 'turn', turnId)),
        redis.lrange(key(tag, 'events', turnId), 0, -1),
      ]);
      const fields = hash(head);
      const conversationId = fields['conversation'];
      if (conversationId !== undefined) return { turnId, tag, conversationId, fields, list };
    }
    return undefined;
  }

  async #head({ turnId, tag, conversationId, fields }: StoredTurn, events: readonly TurnEvent[]) {
    return {
      turnId,
      conversationId,
      outcome: fields['outcome'] ?? null,
      reason: fields['reason'] ?? null,
      startedAt: Number(fields['startedAt']),
      endedAt: numberOrNull(fields['endedAt']),
      park: fields['parkDueAt'] ? (parkOf(events) ?? null) : null,
      reprocessOf: fields['reprocessOf'] ?? null,
      batchId: fields['batch'] ?? null,
      attempt: Number(fields['attempt'] ?? 1),
      reprocessedAs: fields['reprocessedAs'] ?? null,
      messages: await this.#messages(tag, conversationId, fields),
    };
  }

  async conversation(conversationId: string): Promise<ConversationView | undefined> {
    const { redis } = this.#store;
    const tag = this.#store.tagOf(conversationId);
    const mailbox = key(tag, 'mail', conversationId);
    const [conv, history, waiting, oldest] = await Promise.all([
      redis.hgetall(key(tag, 'conv', conversationId)),
      redis.lindex(key(tag, 'hist', conversationId), -1),
      redis.llen(mailbox),
      redis.lindex(mailbox, 0),
    ]);
    const fields = hash(conv);
    if (Object.keys(fields).length === 0 && oldest === null) return undefined;
    return {
      conversationId,
      openTurn: fields['turn'] ?? null,
      lastTurn: history === null ? null : turnOf(JSON.parse(history) as HistoryEntry),
      waiting,
      acceptedAt: numberOrNull(fields['acceptedAt']),
      oldestWaitingSince:
        oldest === null ? null : (JSON.parse(oldest) as AcceptedMessage).acceptedAt,
      holder: await this.#holder(tag, fields),
    };
  }

  /** What is overdue, oldest first: when somebody should have looked at it, and at what. */
  async oldestDue(): Promise<
    { kind: 'turn' | 'delivery'; conversationId: string; dueAt: number } | undefined
  > {
    const { redis } = this.#store;
    const kinds = { turn: 'due', delivery: 'undelivered' } as const;
    const firsts = await Promise.all(
      this.#store.tags().flatMap((tag) =>
        (['turn', 'delivery'] as const).map(async (kind) => {
          const first = pairs(await redis.zrange(key(tag, kinds[kind]), '0', '0', 'WITHSCORES'));
          return first.map(([conversationId, dueAt]) => ({ kind, conversationId, dueAt }));
        }),
      ),
    );
    return firsts.flat().toSorted((a, b) => a.dueAt - b.dueAt)[0];
  }

  /** The source's own name of a thread. */
  async externalId(conversationId: string): Promise<string> {
    const tag = this.#store.tagOf(conversationId);
    const kept = await this.#store.redis.hget(key(tag, 'conv', conversationId), 'external');
    return kept ?? externalIdOf(conversationId);
  }

  /** Messages of a conversation that no turn has taken yet. */
  async notBegun(conversationId: string): Promise<AcceptedMessage[]> {
    const { redis } = this.#store;
    const tag = this.#store.tagOf(conversationId);
    const turn = await redis.hget(key(tag, 'conv', conversationId), 'turn');
    const taken = turn === null ? 0 : Number(await redis.hget(key(tag, 'turn', turn), 'messages'));
    const mail = await redis.lrange(key(tag, 'mail', conversationId), taken, -1);
    return mail.map((json) => acceptedMessageSchema.parse(JSON.parse(json)));
  }

  /** What we have posted in a conversation, by the ids its system gave, and whether something is on its way just now. */
  posted(conversationId: string): Promise<{ ids: Set<string>; sending: boolean }> {
    return this.#store.posted(conversationId);
  }

  /** Texts of which nobody knows whether the ticketing system has them. */
  async unclearDeliveries(): Promise<number> {
    const counts = await Promise.all(
      this.#store.tags().map((tag) => this.#store.redis.zcard(key(tag, 'unclear'))),
    );
    return counts.reduce((sum, one) => sum + one, 0);
  }

  async #holder(tag: string, conversation: Record<string, string>): Promise<Holder> {
    const { worker, token, heldUntil, turn } = conversation;
    const claimed = turn !== undefined && worker !== undefined && (token ?? '') !== '';
    const alive = claimed && (await this.#store.redis.exists(key(tag, 'worker', worker))) === 1;
    return {
      owner: conversation['owner'] === 'human' ? 'human' : 'agent',
      worker: claimed ? (alive ? 'alive' : 'lost') : 'none',
      heldUntil: numberOrNull(heldUntil),
      takenBy: conversation['takenBy'] ?? null,
      takenAt: numberOrNull(conversation['takenAt']),
    };
  }

  async #messages(
    tag: string,
    conversationId: string,
    fields: Record<string, string>,
  ): Promise<AcceptedMessage[]> {
    if (fields['answered'] !== undefined)
      return JSON.parse(fields['answered']) as AcceptedMessage[];
    if (fields['given'] !== undefined) {
      return (JSON.parse(fields['given']) as string[]).map(
        (json) => JSON.parse(json) as AcceptedMessage,
      );
    }
    const count = Number(fields['messages'] ?? 1);
    const mail = await this.#store.redis.lrange(key(tag, 'mail', conversationId), 0, count - 1);
    return mail.map((json) => JSON.parse(json) as AcceptedMessage);
  }

  /** Turns that ended between two moments (milliseconds since the epoch), in pages, each lane from its oldest on. */
  async *endedTurns(after: number, before: number, page: number): AsyncGenerator<EndedTurn[]> {
    const { redis } = this.#store;
    for (const tag of this.#store.tags()) {
      for (let from = 0; ; from += page) {
        const range = [key(tag, 'ended'), after, before, 'LIMIT', from, page] as const;
        const ids = await redis.zrangebyscore(...range);
        if (ids.length === 0) break;
        yield await Promise.all(ids.map((id) => this.#ended(tag, id)));
      }
    }
  }

  async #ended(tag: string, turnId: string): Promise<EndedTurn> {
    const name = key(tag, 'turn', turnId);
    const fields = ['conversation', 'outcome', 'reason', 'endedAt'] as const;
    const [conversation, outcome, reason, endedAt] = await this.#store.redis.hmget(name, ...fields);
    return {
      turnId,
      conversationId: conversation ?? '',
      outcome: outcome ?? '',
      reason: reason ?? '',
      endedAt: Number(endedAt ?? 0),
    };
  }

  /** Newest first: the open turns, then the ended ones. */
  async turnIds(options: { limit: number; open?: boolean }): Promise<string[]> {
    const { redis } = this.#store;
    const ids: { id: string; at: number }[] = [];
    for (const tag of this.#store.tags()) {
      ids.push(...(await this.#openTurns(tag, options.limit)));
      if (options.open === true) continue;
      const ended = await redis.zrange(
        key(tag, 'ended'),
        '0',
        String(options.limit - 1),
        'REV',
        'WITHSCORES',
      );
      ids.push(...pairs(ended).map(([id, score]) => ({ id, at: score })));
    }
    return ids
      .toSorted((a, b) => b.at - a.at)
      .slice(0, options.limit)
      .map(({ id }) => id);
  }

  /** Turns that have not ended, of the conversations somebody waits in. */
  async #openTurns(tag: string, limit: number): Promise<{ id: string; at: number }[]> {
    const { redis } = this.#store;
    const conversations = await redis.zrange(key(tag, 'due'), '0', String(limit - 1));
    const turns = await Promise.all(
      conversations.map((one) => redis.hget(key(tag, 'conv', one), 'turn')),
    );
    const open = turns.filter((id) => id !== null);
    const starts = await Promise.all(
      open.map((id) => redis.hget(key(tag, 'turn', id), 'startedAt')),
    );
    // Open turns stand before every ended one, the newest first.
    return open.map((id, index) => ({ id, at: OPEN_FIRST + Number(starts[index]) }));
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
    const targets = await this.#store.redis.hvals(key(tag, 'targets', conversationId));
    const operations = targets.flatMap((list) => list.split(',').filter((one) => one !== ''));
    const rows = await Promise.all(operations.map((operation) => this.operation(operation)));
    return rows
      .flatMap((row) => (row === undefined ? [] : [row]))
      .toSorted((a, b) => a.attemptedAt - b.attemptedAt);
  }

  async approval(id: string): Promise<Approval | undefined> {
    for (const tag of this.#store.tags()) {
      const found = readApproval(
        id,
        hash(await this.#store.redis.hgetall(key(tag, 'approval', id))),
      );
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

  /**
   * Conversations in which somebody waits behind an open turn, whose turn waits for something, or that no worker has
   * taken yet; longest first.
   */
  async blocked(limit = 1_000): Promise<Blocked[]> {
    const { redis } = this.#store;
    const found: Blocked[] = [];
    for (const tag of this.#store.tags()) {
      for (const conversationId of await redis.zrange(key(tag, 'due'), '0', String(limit - 1))) {
        const blocked = await this.#blocked(tag, conversationId);
        if (blocked !== undefined) found.push(blocked);
      }
    }
    return found
      .toSorted((a, b) => (a.oldestWaitingSince ?? a.since) - (b.oldestWaitingSince ?? b.since))
      .slice(0, limit);
  }

  async #blocked(tag: string, conversationId: string): Promise<Blocked | undefined> {
    const { redis } = this.#store;
    const conversation = hash(await redis.hgetall(key(tag, 'conv', conversationId)));
    const turnId = conversation['turn'] ?? '';
    const mailbox = key(tag, 'mail', conversationId);
    const fields = turnId === '' ? {} : hash(await redis.hgetall(key(tag, 'turn', turnId)));
    const taken = turnId === '' ? 0 : Number(fields['messages'] ?? 1);
    const [total, next] = await Promise.all([
      redis.llen(mailbox),
      redis.lrange(mailbox, taken, taken + WAITING_SHOWN - 1),
    ]);
    const behind = Math.max(0, total - taken);
    const list = turnId === '' ? [] : await redis.lrange(key(tag, 'events', turnId), 0, -1);
    const events = list.map(readEntry).flatMap((entry) => ('event' in entry ? [entry.event] : []));
    const park = fields['parkDueAt'] ? (parkOf(events) ?? null) : null;
    if (behind === 0 && park === null) return undefined;
    const waiting = next.map((json) => JSON.parse(json) as AcceptedMessage);
    const oldest = waiting[0]?.acceptedAt ?? null;
    return {
      conversationId,
      turnId,
      phase: phaseOf(events),
      since: Number(fields['startedAt'] ?? oldest ?? 0),
      behind,
      oldestWaitingSince: oldest,
      park,
      waiting,
      holder: await this.#holder(tag, conversation),
    };
  }
}

/** Waiting messages that are shown by name. */
const WAITING_SHOWN = 5;

/** The number of lanes this Redis was started with; undefined before the first start. */
export async function storedLanes(redis: Redis, prefix: string): Promise<number | undefined> {
  const lanes = await redis.hget(key(laneTag(prefix, 0), 'meta'), 'lanes');
  return lanes === null ? undefined : Number(lanes);
}

function readSignal(json: string | undefined): Signal | null {
  return json ? (JSON.parse(json) as Signal) : null;
}

/** A record that cannot be followed must not keep the others from being shown. */
function phaseOf(events: readonly TurnEvent[]): TurnState['phase'] {
  try {
    return fold(events).phase;
  } catch {
    return 'queued';
  }
}

function turnOf(entry: HistoryEntry): string | null {
  return entry.kind === 'human' ? null : entry.turnId;
}

function readEntry(json: string): RecordEntry {
  try {
    return { event: decodeEvent(json) };
  } catch {
    return { unreadable: json };
  }
}

const STORED_READ = /^read:(\d+):(\d+)$/;

function storedReads(fields: Record<string, string>): StoredRead[] {
  return Object.entries(fields)
    .flatMap(([field, json]) => {
      const [, park, number] = STORED_READ.exec(field) ?? [];
      if (park === undefined) return [];
      const { read, final } = JSON.parse(json) as { read: unknown; final: boolean };
      return [
        {
          park: Number(park),
          number: Number(number),
          read: verificationReadSchema.parse(read),
          final,
        },
      ];
    })
    .toSorted((a, b) => a.park - b.park || a.number - b.number)
    .map(({ park, read, final }) => ({ park, read, final }));
}

function numberOrNull(text: string | undefined): number | null {
  return text === undefined || text === '' ? null : Number(text);
}

type StoredTurn = {
  turnId: string;
  tag: string;
  conversationId: string;
  fields: Record<string, string>;
  list: readonly string[];
};

const OPEN_FIRST = 1e15;

/** The phase as far as the head tells; the events say it exactly. */
function headPhase(fields: Record<string, string>): string {
  if (fields['outcome'] !== undefined) return 'ended';
  if (!fields['parkDueAt']) return 'queued';
  return PARK_PHASES[fields['parkKind'] as Park['kind']];
}

const PARK_PHASES = {
  verification: 'awaiting_verification',
  approval: 'awaiting_approval',
  back_off: 'backing_off',
} as const satisfies Record<Park['kind'], Phase>;

function readRow(operation: string, fields: Record<string, string>): LedgerRow {
  const row = JSON.parse(fields['row'] ?? '{}') as Pick<
    LedgerRow,
    'resource' | 'occurrence' | 'callId' | 'arguments'
  >;
  const time = (name: string): number | undefined =>
    fields[name] ? Number(fields[name]) : undefined;
  const [validUntil, settledAt, verifiedAt] = ['validUntil', 'settledAt', 'verifiedAt'].map(time);
  return {
    operation,
    tool: fields['tool'] ?? '',
    intent: fields['intent'] ?? '',
    conversationId: fields['conversation'] ?? '',
    turnId: fields['turn'] ?? '',
    actionHash: fields['actionHash'] ?? '',
    status: fields['status'] as EffectStatus,
    attempts: Number(fields['attempts']),
    attemptedAt: Number(fields['attemptedAt']),
    ...row,
    ...(fields['settledBy'] === undefined ? {} : { settledBy: fields['settledBy'] }),
    ...(fields['evidence'] === undefined ? {} : { evidence: fields['evidence'] }),
    ...(validUntil === undefined ? {} : { validUntil }),
    ...(settledAt === undefined ? {} : { settledAt }),
    ...(verifiedAt === undefined ? {} : { verifiedAt }),
    ...(fields['outcome'] === undefined
      ? {}
      : { outcome: JSON.parse(fields['outcome']) as unknown }),
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
