import { createHash } from 'node:crypto';
import type { DatabaseSync } from 'node:sqlite';
import { z } from 'zod';
import { Problem } from '../service/problem.ts';
import type { Answer } from '../service/problem.ts';

const StoredAnswer = z.object({ status: z.int(), body: z.unknown() });

/** What identifies a repeat: the same operation on the same order with the same body. */
export function fingerprintOf(operation: string, orderId: string, body: unknown): string {
  return createHash('sha256')
    .update(JSON.stringify([operation, orderId, body]))
    .digest('hex');
}

/** The idempotency keys of calls that succeeded, with the answer each of them got. */
export class KeyBook {
  readonly #db: DatabaseSync;

  constructor(db: DatabaseSync) {
    this.#db = db;
  }

  /** The earlier answer, marked as replayed. Throws `key_conflict` when the key was used for something else. */
  replay(key: string, fingerprint: string): Answer | undefined {
    const row = this.#db
      .prepare('SELECT fingerprint, answer FROM idempotency_keys WHERE key = ?')
      .get(key);
    if (row === undefined) return undefined;
    if (row['fingerprint'] !== fingerprint) {
      throw new Problem(
        422,
        'key_conflict',
        `Idempotency key ${key} was used for another call. Use a new key for a new operation.`,
      );
    }
    const answer = StoredAnswer.parse(JSON.parse(String(row['answer'])));
    return { ...answer, headers: { 'idempotency-replayed': 'true' } };
  }

  keep(key: string, orderId: string, fingerprint: string, answer: Answer): void {
    this.#db
      .prepare(
        'INSERT INTO idempotency_keys (key, order_id, fingerprint, answer) VALUES (?, ?, ?, ?)',
      )
      .run(key, orderId, fingerprint, JSON.stringify({ status: answer.status, body: answer.body }));
  }

  forget(orderId: string): void {
    this.#db.prepare('DELETE FROM idempotency_keys WHERE order_id = ?').run(orderId);
  }
}
