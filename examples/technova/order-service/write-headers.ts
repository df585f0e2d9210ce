import type { FastifyRequest } from 'fastify';
import { Problem } from '../service/problem.ts';

/** What a writing call says about itself. */
export interface WriteHeaders {
  idempotencyKey: string | null;
  /** Epoch ms after which the call must not be done any more; `null`: no end. */
  validUntil: number | null;
}

/** Reads `Idempotency-Key` and `X-Valid-Until`. An unreadable end of validity counts as one that has passed. */
export function writeHeadersOf(request: FastifyRequest): WriteHeaders {
  const key = request.headers['idempotency-key'];
  const until = request.headers['x-valid-until'];
  return {
    idempotencyKey: typeof key === 'string' && key !== '' ? key : null,
    validUntil: until === undefined ? null : Number(until),
  };
}

export function isStillValid({ validUntil }: WriteHeaders, now: number): boolean {
  return validUntil === null || now <= validUntil;
}

/** Throws unless the call may still be done at `now` (epoch ms). */
export function assertStillValid(headers: WriteHeaders, now: number): void {
  if (isStillValid(headers, now)) return;
  throw new Problem(
    410,
    'expired',
    `The call was valid until ${headers.validUntil} and it is ${now} now (epoch ms). Nothing was changed.`,
  );
}
