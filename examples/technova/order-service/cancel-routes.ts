import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { assertCancellable, continueCancellation, requestCancellation } from './cancelling.ts';
import { runWrite } from './write-call.ts';
import type { Outcome } from '../service/call-runner.ts';
import type { Shop } from './shop.ts';
import type { WriteCall } from './write-call.ts';

const CancelRequest = z.strictObject({ reason: z.string().optional() });
const OrderPath = z.object({ id: z.string() });

/** Cancelling: accepted first, settled later. The answer says nothing about whether the order is cancelled. */
export function addCancelRoutes(app: FastifyInstance, shop: Shop): void {
  app.post('/orders/:id/cancel', (request, reply) => {
    const { id } = OrderPath.parse(request.params);
    const kind = {
      operation: 'cancel' as const,
      body: CancelRequest,
      logged: [],
      decide: (call: WriteCall) => cancel(shop, call),
      replayed: () => resume(shop, id),
    };
    return runWrite(shop, id, kind, request, reply);
  });
}

function cancel(shop: Shop, { orderId, idempotencyKey }: WriteCall): Outcome {
  const before = shop.orders.get(orderId);
  assertCancellable(before);
  if (before.status === 'cancelled') {
    const body = {
      status: 'already_cancelled',
      orderId,
      cancellation: acknowledged(before.cancellation),
    };
    return { answer: { status: 200, body }, result: 'unchanged' };
  }

  const order = shop.orders.save(requestCancellation(before, shop.now()), shop.now());
  shop.log.append(
    'effect',
    `applied:cancel:${orderId}`,
    { operation: 'cancel', subject: orderId },
    {
      orderId,
      cancellationId: order.cancellation?.id ?? null,
      idempotencyKey,
      orderStatusAtThatMoment: before.status,
    },
  );
  const body = { status: 'accepted', orderId, cancellation: acknowledged(order.cancellation) };
  return { answer: { status: shop.settings.current.acceptedStatus, body }, result: 'accepted' };
}

function resume(shop: Shop, orderId: string): void {
  const order = shop.orders.get(orderId);
  const continued = continueCancellation(order, shop.now());
  if (continued !== undefined) shop.orders.save(continued, shop.now());
}

function acknowledged(cancellation: { id: string; requestedAt: string } | null): unknown {
  return cancellation && { id: cancellation.id, requestedAt: cancellation.requestedAt };
}
