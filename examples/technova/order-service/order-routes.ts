import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { inTransaction } from '../service/database.ts';
import { parseInput } from '../service/http-server.ts';
import { viewOf } from './order-view.ts';
import { changeByOthers } from './other-hands.ts';
import type { Outcome } from '../service/call-runner.ts';
import type { Shop } from './shop.ts';

const OrderPath = z.object({ id: z.string() });
const ReadQuery = z.object({
  consistency: z.enum(['authoritative', 'eventual']).default('authoritative'),
});
const ListQuery = z.object({
  customer: z.string({ error: 'name the customer whose orders to list' }).min(1),
});

/** The reads of orders. */
export function addOrderRoutes(app: FastifyInstance, shop: Shop): void {
  app.get('/orders', (request) => {
    const { customer } = parseInput(ListQuery, request.query);
    inTransaction(shop.db, () => shop.settler.settleDue());
    return {
      orders: shop.orders
        .ofCustomer(customer)
        .map((order) => viewOf(order, 'authoritative', shop.now())),
    };
  });

  app.get('/orders/:id', (request, reply) => {
    const { id } = OrderPath.parse(request.params);
    const { consistency } = parseInput(ReadQuery, request.query);
    const read = consistency === 'eventual' ? readReplica : readOrder;
    return runRead(shop, 'get', id, { consistency }, request, reply, () => read(shop, id));
  });
}

/** Runs a read of an order or of its refunds, as one call of the log. */
export async function runRead(
  shop: Shop,
  operation: 'get' | 'get_refund',
  orderId: string | null,
  fields: Record<string, unknown>,
  request: FastifyRequest,
  reply: FastifyReply,
  read: () => Outcome,
): Promise<FastifyReply> {
  const call = {
    operation,
    subject: orderId,
    method: request.method,
    path: request.url,
    fields: { orderId, ...fields },
  };
  return shop.calls.run(reply, call, () => {
    shop.settler.settleDue();
    return read();
  });
}

function readOrder(shop: Shop, id: string): Outcome {
  const order = shop.orders.get(id);
  const view = viewOf(order, 'authoritative', shop.now());
  const change = shop.race.afterReadOf(id);
  if (change !== undefined) changeByOthers(shop, id, change);
  return {
    answer: { status: 200, body: view },
    result: 'read',
    fields: { orderStatus: view.status, version: view.version },
  };
}

function readReplica(shop: Shop, id: string): Outcome {
  const asOf = shop.now() - shop.settings.current.replicaLagMs;
  const view = viewOf(shop.orders.asOf(id, asOf), 'eventual', shop.now());
  return {
    answer: { status: 200, body: view },
    result: 'read',
    fields: { orderStatus: view.status, version: view.version },
  };
}
