import {
  batchCaseSchema,
  batchResultSchema,
  batchSchema,
  type Batch,
  type BatchCase,
  type BatchResult,
  type BatchStatus,
} from '../contracts/index.ts';
import { hash } from './claimed-turn.ts';
import { key } from './keys.ts';
import type { Store } from './store.ts';

/** What a plan and its run are made of. Cases lie in a list and are read in pages: their number does not matter. */
export class Batches {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  get #lane(): string {
    return this.#store.tags()[0] ?? '';
  }

  async append(batchId: string, cases: readonly BatchCase[]): Promise<void> {
    if (cases.length === 0) return;
    const plan = key(this.#lane, 'plan', batchId);
    await this.#store.redis.rpush(plan, ...cases.map((one) => JSON.stringify(one)));
  }

  async create(batch: Batch, keepMs: number): Promise<void> {
    const { redis } = this.#store;
    const name = key(this.#lane, 'batch', batch.id);
    await redis.hset(name, toFields(batch));
    await redis.pexpire(name, keepMs);
    await redis.pexpire(key(this.#lane, 'plan', batch.id), keepMs);
  }

  async get(batchId: string): Promise<Batch | undefined> {
    const fields = hash(await this.#store.redis.hgetall(key(this.#lane, 'batch', batchId)));
    if (fields['status'] === undefined) return undefined;
    return batchSchema.parse(
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
    fields: Partial<Batch>,
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

  async cases(batchId: string, from: number, count: number): Promise<BatchCase[]> {
    const plan = key(this.#lane, 'plan', batchId);
    const page = await this.#store.redis.lrange(plan, from, from + count - 1);
    return page.map((json) => batchCaseSchema.parse(JSON.parse(json)));
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

  /** Results of a lane from the n-th on, in the order in which they came. */
  async results(
    batchId: string,
    lane: string,
    from: number,
    count: number,
  ): Promise<BatchResult[]> {
    const done = key(lane, 'casesdone', batchId);
    const page = await this.#store.redis.lrange(done, from, from + count - 1);
    return page.map((json) => batchResultSchema.parse(JSON.parse(json)));
  }

  /** How a single case came out; nothing while it waits or runs. */
  async result(
    batchId: string,
    conversationId: string,
    turnId: string,
  ): Promise<BatchResult | undefined> {
    const name = key(this.#store.tagOf(conversationId), 'case', `${batchId}/${turnId}`);
    const json = await this.#store.redis.get(name);
    return json === null || json === 'queued'
      ? undefined
      : batchResultSchema.parse(JSON.parse(json));
  }
}

function toFields(batch: Partial<Batch>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(batch).flatMap(([name, value]) =>
      value === undefined
        ? []
        : [[name, typeof value === 'string' && name === 'status' ? value : JSON.stringify(value)]],
    ),
  );
}
