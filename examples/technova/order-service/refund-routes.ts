import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { parseInput } from '../service/http-server.ts';
import { Problem } from '../service/problem.ts';
import { RefundRequest } from './model.ts';
import { runRead } from './order-routes.ts';
import { assertRefundable } from './refunding.ts';
import { runWrite } from './write-call.ts';
import type { Outcome } from '../service/call-runner.ts';
import type { Refund } from './model.ts';
import type { Shop } from './shop.ts';
import type { WriteCall } from './write-call.ts';

const IdPath = z.object({ id: z.string() });
const KeyQuery = z.object({
  key: z.string({ error: 'name the idempotency key to look up' }).min(1),
});

/** Refunds: the money side. */
export function addRefundRoutes(app: FastifyInstance, shop: Shop): void {
  app.post('/orders/:id/refunds', (request, reply) => {
    const { id } = IdPath.parse(request.params);
    const kind = {
      operation: 'refund' as const,
      body: RefundRequest,
      logged: ['lineId', 'amount', 'reason'],
      decide: (call: WriteCall, body: RefundRequest) => refund(shop, call, body),
    };
    return runWrite(shop, id, kind, request, reply);
  });

  app.get('/orders/:id/refunds', (request, reply) => {
    const { id } = IdPath.parse(request.params);
    return runRead(shop, 'get_refund', id, {}, request, reply, () => {
      shop.orders.get(id);
      return read({ refunds: shop.refunds.ofOrder(id), readAt: readAt(shop) });
    });
  });

  app.get('/refunds/:id', (request, reply) => {
    const { id } = IdPath.parse(request.params);
    const orderId = shop.refunds.find(id)?.orderId ?? null;
    return runRead(shop, 'get_refund', orderId, { refundId: id }, request, reply, () => {
      const found = shop.refunds.find(id);
      if (found === undefined)
        throw new Problem(404, 'refund_not_found', `There is no refund ${id}.`);
      return read({ refund: found, readAt: readAt(shop) });
    });
  });

  app.get('/refunds', (request, reply) => {
    const { key } = parseInput(KeyQuery, request.query);
    const orderId = shop.refunds.withKey(key)[0]?.orderId ?? null;
    return runRead(shop, 'get_refund', orderId, { idempotencyKey: key }, request, reply, () =>
      read({ refunds: shop.refunds.withKey(key), readAt: readAt(shop) }),
    );
  });
}

function refund(shop: Shop, call: WriteCall, request: RefundRequest): Outcome {
  const { refundGuard, refundSettleMs, businessNow } = shop.settings.current;
  const now = shop.now();
  const order = shop.orders.get(call.orderId);
  if (refundGuard === 'on') {
    const earlier = shop.refunds.ofOrder(order.id);
    assertRefundable({
      order,
      request,
      earlier,
      businessNow: businessNow === null ? now : Date.parse(businessNow),
    });
  }

  const paid: Refund = {
    id: `ref-${order.id}-${order.version + 1}`,
    orderId: order.id,
    lineId: request.lineId ?? null,
    amount: request.amount,
    reason: request.reason,
    status: refundSettleMs === 0 ? 'settled' : 'pending',
    idempotencyKey: call.idempotencyKey,
    createdAt: new Date(now).toISOString(),
  };
  shop.refunds.add(paid, refundSettleMs === 0 ? null : now + refundSettleMs);
  shop.orders.save({ ...order, refunded: order.refunded + paid.amount }, now);
  shop.log.append(
    'effect',
    `applied:refund:${order.id}`,
    { operation: 'refund', subject: order.id },
    {
      orderId: order.id,
      refundId: paid.id,
      lineId: paid.lineId,
      amount: paid.amount,
      idempotencyKey: paid.idempotencyKey,
      orderStatusAtThatMoment: order.status,
    },
  );
  return { answer: { status: 201, body: { refund: paid } }, result: 'applied' };
}

function read(body: unknown): Outcome {
  return { answer: { status: 200, body }, result: 'read' };
}

function readAt(shop: Shop): string {
  return new Date(shop.now()).toISOString();
}
