import type { DatabaseSync } from 'node:sqlite';
import { Problem } from '../service/problem.ts';
import { Order } from './model.ts';

/** The orders, and every version each of them had. */
export class OrderBook {
  readonly #db: DatabaseSync;

  constructor(db: DatabaseSync) {
    this.#db = db;
  }

  find(id: string): Order | undefined {
    const row = this.#db.prepare('SELECT document FROM orders WHERE id = ?').get(id);
    return row === undefined ? undefined : toOrder(row);
  }

  /** Throws `order_not_found`. */
  get(id: string): Order {
    const order = this.find(id);
    if (order === undefined) throw new Problem(404, 'order_not_found', `There is no order ${id}.`);
    return order;
  }

  /** The order as it was at `at` (epoch ms), or its first version when it is younger. */
  asOf(id: string, at: number): Order {
    const row =
      this.#db
        .prepare(
          'SELECT document FROM order_versions WHERE order_id = ? AND at <= ? ORDER BY version DESC LIMIT 1',
        )
        .get(id, at) ??
      this.#db
        .prepare('SELECT document FROM order_versions WHERE order_id = ? ORDER BY version LIMIT 1')
        .get(id);
    return row === undefined ? this.get(id) : toOrder(row);
  }

  ofCustomer(customerId: string): Order[] {
    return this.#db
      .prepare('SELECT document FROM orders WHERE customer_id = ? ORDER BY id')
      .all(customerId)
      .map(toOrder);
  }

  all(): Order[] {
    return this.#db.prepare('SELECT document FROM orders ORDER BY id').all().map(toOrder);
  }

  /** Stores a changed order under the next version. */
  save(changed: Order, at: number): Order {
    const order = { ...changed, version: changed.version + 1 };
    this.#write(order, at);
    return order;
  }

  /** Puts an order in place of whatever was known under its id, history included. */
  replace(order: Order, at: number): void {
    const version = (this.find(order.id)?.version ?? 0) + 1;
    this.#db.prepare('DELETE FROM order_versions WHERE order_id = ?').run(order.id);
    this.#write({ ...order, version }, at);
  }

  due(at: number): Order[] {
    return this.#db
      .prepare('SELECT document FROM orders WHERE due_at <= ? ORDER BY due_at, id')
      .all(at)
      .map(toOrder);
  }

  nextDueAt(): number | undefined {
    const row = this.#db
      .prepare('SELECT min(due_at) AS due_at FROM orders WHERE due_at IS NOT NULL')
      .get();
    return typeof row?.['due_at'] === 'number' ? row['due_at'] : undefined;
  }

  #write(order: Order, at: number): void {
    const document = JSON.stringify(order);
    this.#db
      .prepare(
        'INSERT OR REPLACE INTO orders (id, customer_id, due_at, document) VALUES (?, ?, ?, ?)',
      )
      .run(order.id, order.customerId, order.dueAt, document);
    this.#db
      .prepare('INSERT INTO order_versions (order_id, version, at, document) VALUES (?, ?, ?, ?)')
      .run(order.id, order.version, at, document);
  }
}

function toOrder(row: Record<string, unknown>): Order {
  return Order.parse(JSON.parse(String(row['document'])));
}
