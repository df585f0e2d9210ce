import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { canonicalJson, sha256 } from '../loop/index.ts';
import { UnexpectedReplyError } from './errors.ts';
import { key } from './keys.ts';
import type { Store } from './store.ts';

/** One record of the log. */
export const auditRecordSchema = z.strictObject({
  /** Counts from 1 without a gap. */
  seq: z.number().int().positive(),
  /** Tells two records apart that say the same. */
  id: z.string(),
  /** Milliseconds since the epoch. */
  at: z.number().int(),
  /** Id of the API key, or `cli`, and the name that goes with it. */
  actor: z.strictObject({ id: z.string(), name: z.string() }),
  /** What was asked for, such as `turn.cancel`. */
  action: z.string(),
  /** What it was asked for: id of a turn, a conversation, an approval, an operation, a key. */
  object: z.string(),
  /** Network address, or host name for the command line. */
  from: z.string(),
  reason: z.string(),
  /** On the second record of an act: which record asked for it, and how it came out. */
  of: z.number().int().positive().optional(),
  result: z.string().optional(),
  /** Hash of the record before; empty for the first. */
  previous: z.string(),
  /** SHA-256 over the canonical JSON of everything above. */
  hash: z.string(),
});
export type AuditRecord = z.infer<typeof auditRecordSchema>;
export type AuditEntry = Omit<AuditRecord, 'seq' | 'id' | 'at' | 'previous' | 'hash'>;

/** How far the log goes; somebody who keeps it elsewhere can later prove that nothing up to it was cut off. */
export type AuditHead = { seq: number; hash: string };

export type AuditVerdict =
  | { kind: 'whole'; records: number; head: AuditHead }
  | { kind: 'broken'; seq: number; problem: 'missing' | 'changed' | 'unreadable' | 'surplus' };

/**
 * Appends one record behind the head its writer saw; a repeat of the same record is told that it stands.
 * KEYS  1 log  2 head;  ARGV  1 hash of the head seen, '' for none  2 seq  3 hash  4 record
 * Returns 'appended' | 'moved'
 */
const APPEND = `
if (redis.call('HGET', KEYS[2], 'hash') or '') == ARGV[1] then
  redis.call('RPUSH', KEYS[1], ARGV[4])
  redis.call('HSET', KEYS[2], 'seq', ARGV[2], 'hash', ARGV[3])
  return 'appended'
end
for _, record in ipairs(redis.call('LRANGE', KEYS[1], -100, -1)) do
  if record == ARGV[4] then return 'appended' end
end
return 'moved'
`;

const CHUNK = 1_000;

/** Who did what, when, from where and why: a chain of hashes, so that a change or a gap can be found and named. */
export class AuditLog {
  readonly #store: Store;
  readonly #log: string;
  readonly #head: string;

  constructor(store: Store) {
    const [tag = ''] = store.tags();
    this.#store = store;
    this.#log = key(tag, 'audit');
    this.#head = key(tag, 'audithead');
  }

  /** Stored when this resolves. */
  async append(entry: AuditEntry): Promise<AuditRecord> {
    const id = randomUUID();
    for (;;) {
      const head = await this.head();
      const at = this.#store.clock().now();
      const content = { seq: head.seq + 1, id, at, ...entry, previous: head.hash };
      const record = { ...content, hash: hashOf(content) };
      const reply = await this.#store.redis.eval(
        APPEND,
        2,
        ...[this.#log, this.#head, head.hash, record.seq, record.hash, JSON.stringify(record)],
      );
      if (reply === 'appended') return record;
      if (reply !== 'moved') throw new UnexpectedReplyError('the audit log', reply);
    }
  }

  async head(): Promise<AuditHead> {
    const [seq, hash] = await this.#store.redis.hmget(this.#head, 'seq', 'hash');
    return { seq: Number(seq ?? 0), hash: hash ?? '' };
  }

  /** From record `from` on, oldest first. One that cannot be read is left out; `verify` names it. */
  async records(from: number, count: number): Promise<AuditRecord[]> {
    const list = await this.#store.redis.lrange(this.#log, from - 1, from + count - 2);
    return list.flatMap((json) => read(json) ?? []);
  }

  /**
   * Walks the whole log and names the first record that is bad or missing.
   *
   * @param witness a head that was kept outside: without it, whoever can write to Redis may cut off the newest records
   */
  async verify(witness?: AuditHead): Promise<AuditVerdict> {
    let last: AuditHead = { seq: 0, hash: '' };
    for (let index = 0; ; index += CHUNK) {
      // The end of the log and its head in one step: somebody may be writing.
      const [list, head] = await this.#chunk(index);
      for (const json of list) {
        const record = read(json);
        const problem = problemOf(record, last, witness);
        if (problem !== undefined) return { kind: 'broken', ...problem };
        if (record !== undefined) last = { seq: record.seq, hash: record.hash };
      }
      if (list.length < CHUNK) return endOf(last, head, witness);
    }
  }

  async #chunk(index: number): Promise<[string[], AuditHead]> {
    const replies = await this.#store.redis
      .multi()
      .lrange(this.#log, index, index + CHUNK - 1)
      .hmget(this.#head, 'seq', 'hash')
      .exec();
    const [list, head] = (replies ?? []).map(([error, reply]) => {
      if (error !== null) throw error;
      return reply as (string | null)[];
    });
    if (list === undefined || head === undefined) {
      throw new UnexpectedReplyError('the audit log', replies);
    }
    return [list.map(String), { seq: Number(head[0] ?? 0), hash: head[1] ?? '' }];
  }
}

type Problem = Omit<Extract<AuditVerdict, { kind: 'broken' }>, 'kind'>;

function problemOf(
  record: AuditRecord | undefined,
  last: AuditHead,
  witness: AuditHead | undefined,
): Problem | undefined {
  const seq = last.seq + 1;
  if (record === undefined) return { seq, problem: 'unreadable' };
  const { hash, ...content } = record;
  if (hashOf(content) !== hash) return { seq, problem: 'changed' };
  if (record.seq > seq) return { seq, problem: 'missing' };
  if (record.seq < seq) return { seq, problem: 'surplus' };
  // A record names the one before: that one was written anew.
  if (record.previous !== last.hash) return { seq: Math.max(1, last.seq), problem: 'changed' };
  if (witness?.seq === seq && witness.hash !== hash) return { seq, problem: 'changed' };
  return undefined;
}

function endOf(last: AuditHead, head: AuditHead, witness: AuditHead | undefined): AuditVerdict {
  if (Math.max(head.seq, witness?.seq ?? 0) > last.seq) {
    return { kind: 'broken', seq: last.seq + 1, problem: 'missing' };
  }
  if (head.seq < last.seq) return { kind: 'broken', seq: head.seq + 1, problem: 'surplus' };
  if (head.hash !== last.hash) return { kind: 'broken', seq: last.seq, problem: 'changed' };
  return { kind: 'whole', records: last.seq, head };
}

function hashOf(content: Omit<AuditRecord, 'hash'>): string {
  return sha256(canonicalJson(content));
}

function read(json: string): AuditRecord | undefined {
  try {
    return auditRecordSchema.parse(JSON.parse(json));
  } catch {
    return undefined;
  }
}
