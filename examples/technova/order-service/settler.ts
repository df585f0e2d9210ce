import { inTransaction } from '../service/database.ts';
import { settleCancellation } from './cancelling.ts';
import type { Order } from './model.ts';
import type { Shop } from './shop.ts';

const LONGEST_TIMER_MS = 2_000_000_000;

type SettlerParts = Pick<Shop, 'db' | 'orders' | 'refunds' | 'log' | 'now'>;

/**
 * Lets what was accepted take effect when its time has come. The due times are in the database, so a restart forgets none.
 * `settleDue` also runs before every call, so that no answer is older than the clock.
 */
export class Settler {
  readonly #parts: SettlerParts;
  #timer: NodeJS.Timeout | undefined;

  constructor(parts: SettlerParts) {
    this.#parts = parts;
  }

  settleDue(): void {
    const { orders, refunds, log, now } = this.#parts;
    for (const order of orders.due(now())) this.settle(order);
    for (const refund of refunds.due(now())) {
      refunds.settle(refund.id);
      const about = { operation: 'refund', subject: refund.orderId };
      log.append('settlement', `settled:refund:${refund.orderId}`, about, {
        orderId: refund.orderId,
        refundId: refund.id,
        amount: refund.amount,
      });
    }
  }

  /** Makes the order cancelled now, due or not. */
  settle(order: Order): Order {
    const { orders, log, now } = this.#parts;
    const settled = orders.save(settleCancellation(order, now()), now());
    log.append(
      'settlement',
      `settled:cancel:${order.id}`,
      { operation: 'cancel', subject: order.id },
      {
        orderId: order.id,
        cancellationId: settled.cancellation?.id ?? null,
        version: settled.version,
      },
    );
    return settled;
  }

  /** Sets the timer to the next due time; call it after anything that may have changed one. */
  arm(): void {
    this.stop();
    const { orders, refunds, now } = this.#parts;
    const dueAt = Math.min(orders.nextDueAt() ?? Infinity, refunds.nextDueAt() ?? Infinity);
    if (dueAt === Infinity) return;
    const delayMs = Math.min(Math.max(dueAt - now(), 0), LONGEST_TIMER_MS);
    this.#timer = setTimeout(() => this.#tick(), delayMs);
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #tick(): void {
    inTransaction(this.#parts.db, () => this.settleDue());
    this.arm();
  }
}
