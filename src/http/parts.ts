import type {
  FastifyBaseLogger,
  FastifyInstance,
  RawReplyDefaultExpression,
  RawRequestDefaultExpression,
  RawServerDefault,
} from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import type { Queues } from '../producers/index.ts';
import type { ApiKeys } from '../store/api-keys.ts';
import type { AuditLog } from '../store/audit.ts';
import type { DeadLetters } from '../store/dead-letters.ts';
import type { HttpRecords } from '../store/http-records.ts';
import type { Store } from '../store/index.ts';
import type { Records } from '../store/records.ts';
import type { Meter } from '../telemetry/metrics/index.ts';
import type { OperatorPort, TurnFeedPort } from './operator-port.ts';
import { problemSchema } from './problem.ts';

/** A server whose routes are typed by their zod schemas. */
export type Api = FastifyInstance<
  RawServerDefault,
  RawRequestDefaultExpression,
  RawReplyDefaultExpression,
  FastifyBaseLogger,
  ZodTypeProvider
>;

/** What routes work on. */
export type Parts = {
  store: Store;
  queues: Queues;
  records: Records;
  http: HttpRecords;
  keys: ApiKeys;
  audit: AuditLog;
  letters: DeadLetters;
  operator: OperatorPort;
  feed: TurnFeedPort;
  meter: Meter;
};

/** A refusal of a route, for its documentation. */
export const refusal = (description: string) => ({
  description,
  content: { 'application/problem+json': { schema: problemSchema } },
});

/** The refusals a route behind a key may answer with. */
export const REFUSED = {
  400: refusal('Something in the request cannot be used; names the field, its value and the fix'),
  401: refusal('No key, or one that is not valid any more'),
  403: refusal('The key lacks the role, or is for one source only'),
  404: refusal('There is no such thing, or the key may not see it'),
  429: refusal('Too many requests; see Retry-After'),
  503: refusal('Redis gave no answer; see Retry-After'),
};

/** Those of a route that takes a body. */
export const REFUSED_BODY = {
  ...REFUSED,
  413: refusal('The body is larger than what is taken'),
  415: refusal('The body is something else than JSON'),
};

export const REUSED_KEY = {
  422: refusal('Another message was handed in under this Idempotency-Key; this one is not stored'),
};

export const CONFLICT = { 409: refusal('Too late, or somebody was first') };

export const anId = z.string().min(1).max(128);
export const aReason = z
  .string()
  .trim()
  .min(1, { error: 'say why, in a sentence; it is kept in the audit log' })
  .max(1_000);

/** `?raw=true`: for auditors, and on record. */
export const rawQuery = z.object({
  raw: z
    .stringbool()
    .optional()
    .describe('For the role auditor: what customers and tools said, unmasked. Leaves a trace'),
});

export const limitQuery = z.coerce.number().int().min(1).max(1_000).default(100);

export function iso(at: number): string {
  return new Date(at).toISOString();
}

export function isoOrNull(at: number | null | undefined): string | null {
  return at === null || at === undefined ? null : iso(at);
}
