import { z } from 'zod';
import {
  batchCaseSchema,
  batchResultSchema,
  batchSchema,
  type BatchResult,
  type BatchStatus,
} from '../contracts/index.ts';
import { BatchHolds } from './batch-holds.ts';
import { hash } from './claimed-turn.ts';
import { key } from './keys.ts';
import type { Store } from './store.ts';

/** A case as it lies in its plan: also how often what is done was attempted then, and `why` without what names the case. */
export const plannedCaseSchema = batchCaseSchema.extend({
  done: z.array(
    batchCaseSchema.shape.done.element.extend({ attempts: z.number().int().nonnegative() }),
  ),
  group: z.string().optional(),
});
export type PlannedCase = z.infer<typeof plannedCaseSchema>;

const storedBatchSchema = batchSchema.extend({
  /** Up to when the time that its rate allows is used up. Milliseconds since the epoch. */
  lastAt: z.number().int().optional(),
  /** Results, by lane, that were compared with the ledger. */
  checked: z.array(z.number().int()).optional(),
  /** Cases that had come out when somebody last let it go on: only what came later counts for stopping it. */
  judgedFrom: z
    .object({ over: z.number().int(), ran: z.number().int(), failed: z.number().int() })
    .optional(),
});
/** A batch with what its next step needs to know of the last one. */
export type StoredBatch = z.infer<typeof storedBatchSchema>;

/**
 * Ends a case that was never queued, once. KEYS 1 case  2 results  3 counts; ARGV 1 result, JSON  2 name it is counted under
 * 3 how long, ms.
 */
const PASS_OVER = `
if not redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[3]) then return 0 end
redis.call('RPUSH', KEYS[2], ARGV[1])
redis.call('HINCRBY', KEYS[3], ARGV[2], 1)
redis.call('PEXPIRE', KEYS[2], ARGV[3])
redis.call('PEXPIRE', KEYS[3], ARGV[3])
return 1
`;

/** What a plan and its run are made of. Cases lie in a list and are read in pages: their number does not matter. */
export class Batches {
  readonly holds: BatchHolds;
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
    this.holds = new BatchHolds(store, this);
  }

  /** Where batches, their plans and their steps lie. */
  get lane(): string {
    return this.#store.tags()[0] ?? '';
  }

  /** The plan is gone after `keepMs`, also when it is never finished. */
  async append(batchId: string, cases: readonly PlannedCase[], keepMs: number): Promise<void> {
    if (cases.length === 0) return;
    const plan = key(this.lane, 'plan', batchId);
    await this.#store.redis.rpush(plan, ...cases.map((one) => JSON.stringify(one)));
    await this.#store.redis.pexpire(plan, keepMs);
  }

  async create(batch: StoredBatch, keepMs: number): Promise<void> {
    const { redis } = this.#store;
    const name = key(this.lane, 'batch', batch.id);
    await redis.hset(name, toFields(batch));
    await this.keep(batch.id, keepMs);
  }

  async keep(batchId: string, keepMs: number): Promise<void> {
    const { redis } = this.#store;
    await redis.pexpire(key(this.lane, 'batch', batchId), keepMs);
    await redis.pexpire(key(this.lane, 'plan', batchId), keepMs);
  }

  async get(batchId: string): Promise<StoredBatch | undefined> {
    const fields = hash(await this.#store.redis.hgetall(key(this.lane, 'batch', batchId)));
    if (fields['status'] === undefined) return undefined;
    return storedBatchSchema.parse(
      Object.fromEntries(
        Object.entries(fields).map(([name, json]) => [
          name,
          name === 'status' ? json : (JSON.parse(json) as unknown),
        ]),
      ),
    );
  }

  /** Changes a batch that is in one of the states `from`; answers the state it was in, or nothing if there is none. */
  async move(
    batchId: string,
    from: readonly BatchStatus[],
    fields: Partial<StoredBatch>,
  ): Promise<{ moved: boolean; status: BatchStatus } | undefined> {
    const [answer, status] = await this.#store.run(
      'move-batch',
      null,
      batchId,
      from.map((one) => `${one},`).join(''),
      JSON.stringify(Object.entries(toFields(fields)).flat()),
    );
    if (answer === 'not-found') return undefined;
    return { moved: answer === 'moved', status: String(status) as BatchStatus };
  }

  async cases(batchId: string, from: number, count: number): Promise<PlannedCase[]> {
    const plan = key(this.lane, 'plan', batchId);
    const page = await this.#store.redis.lrange(plan, from, from + count - 1);
    return page.map((json) => plannedCaseSchema.parse(JSON.parse(json)));
  }

  /** The whole plan in pages, in its order. */
  async *pages(batchId: string, size: number): AsyncGenerator<PlannedCase[]> {
    for (let from = 0; ; from += size) {
      const page = await this.cases(batchId, from, size);
      if (page.length > 0) yield page;
      if (page.length < size) return;
    }
  }

  /** Puts a case behind the messages of its conversation, once. */
  async queue(
    conversationId: string,
    one: { batch: string; turn: string; intent: string; attempt: number; plannedAt: number },
    messages: readonly string[],
  ): Promise<'queued' | 'known' | 'skipped'> {
    const [answer] = await this.#store.run(
      'queue-case',
      conversationId,
      conversationId,
      one.batch,
      one.turn,
      JSON.stringify({ ...one, messages }),
      this.#store.clock().now() - Date.now(),
    );
    return answer === 'queued' || answer === 'known' ? answer : 'skipped';
  }

  /** Says of a case that it is not run after all; changes nothing if it was queued before. */
  async passOver(
    batchId: string,
    { conversationId, turnId }: { conversationId: string; turnId: string },
    why: string,
    keepMs: number,
  ): Promise<void> {
    const tag = this.#store.tagOf(conversationId);
    await this.#store.redis.eval(
      PASS_OVER,
      3,
      key(tag, 'case', `${batchId}/${turnId}`),
      key(tag, 'casesdone', batchId),
      key(tag, 'casecount', batchId),
      JSON.stringify({ turn: turnId, skipped: why }),
      `skipped:${why}`,
      keepMs,
    );
  }

  /** How many cases have come out so, by `outcome/reason` or `skipped:why`. */
  async counts(batchId: string): Promise<Record<string, number>> {
    const lanes = await Promise.all(
      this.#store.tags().map((tag) => this.#store.redis.hgetall(key(tag, 'casecount', batchId))),
    );
    const sum: Record<string, number> = {};
    for (const [name, count] of lanes.flatMap((lane) => Object.entries(hash(lane)))) {
      sum[name] = (sum[name] ?? 0) + Number(count);
    }
    return sum;
  }

  /** How many started cases wait for a person. Costs two reads for each approval that waits, whoever asked for it. */
  async waiting(batchId: string): Promise<number> {
    const lanes = await Promise.all(
      this.#store.tags().map(async (tag) => {
        const { redis } = this.#store;
        const approvals = await redis.zrange(key(tag, 'approvals'), '0', '-1');
        const turns = await Promise.all(
          approvals.map((id) => redis.hget(key(tag, 'approval', id), 'turn')),
        );
        const owners = await Promise.all(
          turns.map(async (turn) => redis.hget(key(tag, 'turn', turn ?? ''), 'batch')),
        );
        return owners.filter((owner) => owner === batchId).length;
      }),
    );
    return lanes.reduce((sum, one) => sum + one, 0);
  }

  /** How a single case came out; `queued` while it waits or runs, nothing before it was started. */
  async state(
    batchId: string,
    conversationId: string,
    turnId: string,
  ): Promise<BatchResult | 'queued' | undefined> {
    const name = key(this.#store.tagOf(conversationId), 'case', `${batchId}/${turnId}`);
    const json = await this.#store.redis.get(name);
    if (json === null) return undefined;
    return json === 'queued' ? json : batchResultSchema.parse(JSON.parse(json));
  }

  /** How a single case came out; nothing while it waits or runs. */
  async result(
    batchId: string,
    conversationId: string,
    turnId: string,
  ): Promise<BatchResult | undefined> {
    const state = await this.state(batchId, conversationId, turnId);
    return state === 'queued' ? undefined : state;
  }
}

function toFields(batch: Partial<StoredBatch>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(batch).flatMap(([name, value]) =>
      value === undefined
        ? []
        : [[name, name === 'status' && typeof value === 'string' ? value : JSON.stringify(value)]],
    ),
  );
}
