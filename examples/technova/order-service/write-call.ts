import type { FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import { parseInput } from '../service/http-server.ts';
import { Problem } from '../service/problem.ts';
import { fingerprintOf } from './key-book.ts';
import { assertStillValid, isStillValid, writeHeadersOf } from './write-headers.ts';
import type { Outcome } from '../service/call-runner.ts';
import type { Shop } from './shop.ts';
import type { WriteHeaders } from './write-headers.ts';

/** A call that wants to change an order. */
export interface WriteCall extends WriteHeaders {
  orderId: string;
}

interface WriteKind<S extends z.ZodType> {
  operation: 'cancel' | 'refund';
  body: S;
  /** Fields of the body that the log names, as they were sent. */
  logged: string[];
  /** Does it, or throws a `Problem`. Runs inside the transaction that also keeps the key. */
  decide: (call: WriteCall, body: z.infer<S>) => Outcome;
  /** Runs when a known key was answered from memory and the call is still valid. */
  replayed?: (call: WriteCall) => void;
}

/** The order of checks of every write: body, order exists, key, earlier answer, validity at write time, business rules. */
export async function runWrite<S extends z.ZodType>(
  shop: Shop,
  orderId: string,
  kind: WriteKind<S>,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const call: WriteCall = { orderId, ...writeHeadersOf(request) };
  const fields = { ...call, ...pick(request.body, kind.logged) };
  const logged = {
    operation: kind.operation,
    subject: orderId,
    method: request.method,
    path: request.url,
    fields,
  };
  return shop.calls.run(reply, logged, () => {
    shop.settler.settleDue();
    // After the commit: the write may have made something due.
    queueMicrotask(() => shop.settler.arm());
    const body = parseInput(kind.body, request.body);
    shop.orders.get(orderId);
    return shop.settings.current.idempotency === 'on'
      ? withKey(shop, call, kind, body)
      : withoutKey(shop, call, kind, body);
  });
}

function withKey<S extends z.ZodType>(
  shop: Shop,
  call: WriteCall,
  kind: WriteKind<S>,
  body: z.infer<S>,
): Outcome {
  const key = call.idempotencyKey;
  if (key === null)
    throw new Problem(400, 'key_required', 'Send the Idempotency-Key header with every write.');
  const fingerprint = fingerprintOf(kind.operation, call.orderId, body);
  const earlier = shop.keys.replay(key, fingerprint);
  if (earlier !== undefined) {
    if (isStillValid(call, shop.now())) kind.replayed?.(call);
    return { answer: earlier, result: 'replayed' };
  }
  const outcome = withoutKey(shop, call, kind, body);
  shop.keys.keep(key, call.orderId, fingerprint, outcome.answer);
  return outcome;
}

function withoutKey<S extends z.ZodType>(
  shop: Shop,
  call: WriteCall,
  kind: WriteKind<S>,
  body: z.infer<S>,
): Outcome {
  assertStillValid(call, shop.now());
  return kind.decide(call, body);
}

function pick(sent: unknown, names: string[]): Record<string, unknown> {
  const body = typeof sent === 'object' && sent !== null ? sent : {};
  return Object.fromEntries(names.map((name) => [name, Reflect.get(body, name) ?? null]));
}
