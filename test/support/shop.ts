import { z } from 'zod';
import type { ToolContext, ToolContract, Verdict } from '../../src/contracts/index.ts';
import { defineTool, ToolRefusal, ToolUnavailable } from '../../src/tools/index.ts';

export type OrderStatus = 'paid' | 'shipped' | 'cancellation_pending' | 'cancelled';
export type Order = {
  id: string;
  owner: string;
  status: OrderStatus;
  total: number;
  version: number;
};

/**
 * How the shop behaves at its next call of an operation. `lost_*`: the answer never comes, with or without the effect;
 * `late`: the answer never comes and the call arrives three calls later, unless its validity is over by then.
 */
export type Fault =
  | 'none'
  | 'refuse'
  | 'unavailable'
  | 'lost_before'
  | 'lost_after'
  | 'late'
  | 'hang_after'
  | 'ack_only'
  | 'garbage';

export type ShopEffect = {
  kind: 'cancel' | 'refund';
  orderId: string;
  operation: string;
  amount: number;
  statusThen: OrderStatus;
};

/**
 * A shop in memory whose own log is the judge: what was really done, how often, and what the order looked like then.
 * Cancelling is accepted first and settles after `settleReads` authoritative reads.
 */
export class Shop {
  readonly orders = new Map<string, Order>();
  readonly effects: ShopEffect[] = [];
  readonly calls: string[] = [];
  readonly keys = new Map<string, unknown>();
  readonly faults: Record<string, Fault[]> = { cancel: [], refund: [], get: [] };
  settleReads = 0;
  idempotent = true;
  /** Never lets a cancellation through. */
  blocked = false;
  /** Runs at every authoritative read, e.g. to let the warehouse ship. */
  onRead: (order: Order, reads: number) => void = () => {};
  now: () => number = Date.now;
  #reads = 0;
  #late: { afterCalls: number; arrive: () => void }[] = [];
  #pendingReads = new Map<string, number>();

  add(order: Partial<Order> & { id: string }): Order {
    const full: Order = {
      owner: 'ana@example.com',
      status: 'paid',
      total: 5_000,
      version: 1,
      ...order,
    };
    this.orders.set(full.id, full);
    return full;
  }

  read(id: string): Order {
    this.#arrive(`get ${id}`);
    const fault = this.#fault('get');
    if (fault === 'unavailable') throw new ToolUnavailable('down', 'the shop is down');
    if (fault !== 'none') throw new Error('connection lost');
    const order = this.#order(id);
    this.#reads += 1;
    const left = this.#pendingReads.get(id);
    if (left !== undefined && !this.blocked) {
      if (left <= 0) this.#change(order, 'cancelled');
      else this.#pendingReads.set(id, left - 1);
    }
    const seen = { ...order };
    this.onRead(order, this.#reads);
    return seen;
  }

  async cancel(id: string, context: ToolContext): Promise<{ status: string }> {
    return this.#write('cancel', id, 0, context, (order) => {
      if (order.status === 'shipped') throw new ToolRefusal('order_shipped', 'it is on its way');
      if (order.status === 'cancelled') return { status: 'cancelled' };
      this.#change(order, 'cancellation_pending');
      this.#pendingReads.set(id, this.settleReads);
      return { status: 'accepted' };
    });
  }

  async refund(id: string, amount: number, context: ToolContext): Promise<{ status: string }> {
    return this.#write('refund', id, amount, context, () => ({ status: 'refunded' }));
  }

  refunds(operation: string): ShopEffect[] {
    this.#arrive('get refunds');
    const fault = this.#fault('get');
    if (fault !== 'none') throw new Error('connection lost');
    return this.effects.filter((one) => one.kind === 'refund' && one.operation === operation);
  }

  async #write(
    kind: ShopEffect['kind'],
    orderId: string,
    amount: number,
    context: ToolContext,
    apply: (order: Order) => { status: string },
  ): Promise<{ status: string }> {
    this.#arrive(`${kind} ${orderId}`);
    const fault = this.#fault(kind);
    if (fault === 'unavailable') throw new ToolUnavailable('down', 'the shop is down');
    if (fault === 'refuse') throw new ToolRefusal('not_now', 'not now');
    if (fault === 'lost_before') throw new Error('connection lost');
    if (fault === 'ack_only') return { status: 'accepted' };
    if (fault === 'late') {
      const arrive = (): void => void this.#apply(kind, orderId, amount, context, apply);
      this.#late.push({ afterCalls: 3, arrive });
      throw new Error('connection lost');
    }
    const answer = this.#apply(kind, orderId, amount, context, apply);
    if (fault === 'lost_after') throw new Error('connection lost');
    if (fault === 'garbage') return { nonsense: true } as never;
    if (fault === 'hang_after') {
      await new Promise((_, reject) => {
        context.signal.addEventListener('abort', () => reject(new Error('aborted')));
      });
    }
    return answer;
  }

  #apply(
    kind: ShopEffect['kind'],
    orderId: string,
    amount: number,
    context: ToolContext,
    apply: (order: Order) => { status: string },
  ): { status: string } {
    const { operation } = context;
    if (this.now() > context.validUntil) throw new ToolUnavailable('expired', 'too late');
    const known = this.idempotent ? this.keys.get(operation) : undefined;
    const order = this.#order(orderId);
    const statusThen = order.status;
    const answer = (known as { status: string } | undefined) ?? apply(order);
    if (known === undefined) {
      this.keys.set(operation, answer);
      this.effects.push({ kind, orderId, operation, amount, statusThen });
    }
    return answer;
  }

  /** Notes a call, and lets earlier ones that were on their way come in first. */
  #arrive(call: string): void {
    this.calls.push(call);
    for (const one of this.#late) one.afterCalls -= 1;
    const due = this.#late.filter((one) => one.afterCalls <= 0);
    this.#late = this.#late.filter((one) => one.afterCalls > 0);
    for (const { arrive } of due) {
      try {
        arrive();
      } catch {
        // Nobody waits for the answer of a call that came in late.
      }
    }
  }

  #fault(kind: string): Fault {
    return this.faults[kind]?.shift() ?? 'none';
  }

  #order(id: string): Order {
    const order = this.orders.get(id);
    if (order === undefined) throw new ToolRefusal('order_not_found', `there is no order ${id}`);
    return order;
  }

  #change(order: Order, status: OrderStatus): void {
    order.status = status;
    order.version += 1;
    if (status === 'cancelled') this.#pendingReads.delete(order.id);
  }
}

const orderOutput = z.object({
  id: z.string(),
  owner: z.string(),
  status: z.string(),
  total: z.number(),
  version: z.number(),
});
const orderId = z.string().regex(/^\d+$/);

/** The shop's tools with their whole contracts. `overrides` replaces parts of one, by name. */
export function shopTools(
  shop: Shop,
  overrides: Partial<Record<string, Partial<ToolContract>>> = {},
): ToolContract[] {
  const tools = [
    defineTool({
      name: 'get_order',
      description: { use: 'Reads an order.', avoid: 'orders of other people.' },
      input: z.object({ orderId }),
      output: orderOutput,
      effect: 'read',
      reversible: true,
      resource: (args) => [`order:${args.orderId}`],
      provenance: { orderId: 'customer' },
      failureModes: ['error_status', 'times_out'],
      timeoutMs: 200,
      authorize: () => undefined,
      owner: (order) => order.owner,
      run: async (args) => shop.read(args.orderId),
    }),
    defineTool({
      name: 'cancel_order',
      description: { use: 'Cancels an order that has not shipped.', avoid: 'shipped orders.' },
      input: z.object({ orderId }),
      output: z.object({ status: z.string() }),
      effect: 'write',
      reversible: false,
      resource: (args) => [`order:${args.orderId}`],
      provenance: { orderId: 'customer' },
      failureModes: ['error_status', 'times_out'],
      timeoutMs: 200,
      idempotency: { scope: 'resource', occurrence: null, enforcesValidity: true },
      approval: () => 'never',
      authorize: (args, principal, facts) => ownedBy(args.orderId, principal.id, facts),
      verify: {
        level: 'reread',
        read: async (args) => shop.read(args.orderId),
        landed: (order) => cancellationVerdict((order as Order).status, shop.blocked),
        attempts: 4,
        backoffMs: 10,
        maxBackoffMs: 50,
      },
      run: (args, context) => shop.cancel(args.orderId, context),
    }),
    defineTool({
      name: 'issue_refund',
      description: { use: 'Pays money back.', avoid: 'orders that are not cancelled.' },
      input: z.object({
        orderId,
        amount: z.number().int(),
        note: z.string().optional(),
        line: z.string().optional(),
        after: z.string().optional(),
      }),
      output: z.object({ status: z.string() }),
      effect: 'write',
      reversible: false,
      resource: (args) => [`order:${args.orderId}/${args.line ?? 'refund'}`],
      provenance: {
        orderId: 'customer',
        amount: 'policy',
        note: 'model',
        line: 'customer',
        after: { field: ['operation'] },
      },
      failureModes: ['error_status', 'times_out'],
      timeoutMs: 200,
      idempotency: {
        scope: 'intent',
        occurrence: (args) => (args.after === undefined ? args.line : { after: args.after }),
        enforcesValidity: true,
      },
      approval: (args) => ({
        amount: args.amount,
        currency: 'EUR',
        summary: `refund ${args.amount}`,
      }),
      approvalState: async (args) => {
        const { status, version } = shop.read(args.orderId);
        return { status, version };
      },
      range: (args, facts) => {
        const order = facts[`order:${args.orderId}`]?.data as Order | undefined;
        if (args.amount <= 0 || (order !== undefined && args.amount > order.total)) {
          return { code: 'amount_out_of_range', message: 'more than was paid.' };
        }
        return undefined;
      },
      authorize: (args, principal, facts) => ownedBy(args.orderId, principal.id, facts),
      verify: {
        level: 'reread',
        read: async (_args, context) => ({ refunds: shop.refunds(context.operation).length }),
        landed: (read) => ((read as { refunds: number }).refunds > 0 ? 'landed' : 'not_landed'),
        factOf: (args) => `order:${args.orderId}/refund`,
        attempts: 4,
        backoffMs: 10,
        maxBackoffMs: 50,
      },
      run: (args, context) => shop.refund(args.orderId, args.amount, context),
    }),
  ];
  return tools.map((tool) => ({ ...tool, ...overrides[tool.name] }));
}

function ownedBy(id: string, principal: string, facts: Record<string, unknown> | object) {
  const fact = (facts as Record<string, { data: unknown } | undefined>)[`order:${id}`];
  if (fact === undefined) return { code: 'order_not_read', message: 'read the order first.' };
  return (fact.data as Order).owner === principal
    ? undefined
    : { code: 'not_yours', message: 'the order belongs to somebody else.' };
}

function cancellationVerdict(status: OrderStatus, blocked: boolean): Exclude<Verdict, 'unknown'> {
  if (status === 'cancelled') return 'landed';
  if (blocked) return 'blocked';
  return status === 'cancellation_pending' ? 'pending' : 'not_landed';
}
