import type { DatabaseSync } from 'node:sqlite';
import type { Refund } from './model.ts';

const SELECT =
  'SELECT id, order_id, line_id, amount, reason, status, idempotency_key, created_at FROM refunds';

/** The refunds that were paid or are on their way. */
export class RefundBook {
  readonly #db: DatabaseSync;

  constructor(db: DatabaseSync) {
    this.#db = db;
  }

  find(id: string): Refund | undefined {
    const row = this.#db.prepare(`${SELECT} WHERE id = ?`).get(id);
    return row === undefined ? undefined : toRefund(row);
  }

  ofOrder(orderId: string): Refund[] {
    return this.#db
      .prepare(`${SELECT} WHERE order_id = ? ORDER BY created_at, rowid`)
      .all(orderId)
      .map(toRefund);
  }

  withKey(key: string): Refund[] {
    return this.#db
      .prepare(`${SELECT} WHERE idempotency_key = ? ORDER BY created_at, rowid`)
      .all(key)
      .map(toRefund);
  }

  all(): Refund[] {
    return this.#db.prepare(`${SELECT} ORDER BY created_at, rowid`).all().map(toRefund);
  }

  /** `dueAt`: epoch ms at which it settles; `null` when it is settled already. */
  add(refund: Refund, dueAt: number | null): void {
    this.#db
      .prepare(
        `INSERT INTO refunds (id, order_id, line_id, amount, reason, status, idempotency_key, created_at, due_at)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      )
      .run(
        refund.id,
        refund.orderId,
        refund.lineId,
        refund.amount,
        refund.reason,
        refund.status,
        refund.idempotencyKey,
        refund.createdAt,
        dueAt,
      );
  }

  settle(id: string): void {
    this.#db.prepare("UPDATE refunds SET status = 'settled', due_at = NULL WHERE id = ?").run(id);
  }

  forget(orderId: string): void {
    this.#db.prepare('DELETE FROM refunds WHERE order_id = ?').run(orderId);
  }

  due(at: number): Refund[] {
    return this.#db
      .prepare(`${SELECT} WHERE due_at <= ? ORDER BY due_at, rowid`)
      .all(at)
      .map(toRefund);
  }

  nextDueAt(): number | undefined {
    const row = this.#db
      .prepare('SELECT min(due_at) AS due_at FROM refunds WHERE due_at IS NOT NULL')
      .get();
    return typeof row?.['due_at'] === 'number' ? row['due_at'] : undefined;
  }
}

function toRefund(row: Record<string, unknown>): Refund {
  return {
    id: String(row['id']),
    orderId: String(row['order_id']),
    lineId: textOrNull(row['line_id']),
    amount: Number(row['amount']),
    reason: String(row['reason']),
    status: row['status'] === 'settled' ? 'settled' : 'pending',
    idempotencyKey: textOrNull(row['idempotency_key']),
    createdAt: String(row['created_at']),
  };
}

function textOrNull(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}
