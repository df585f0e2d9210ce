import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { InvalidInputError, TurnkeeperError } from '../contracts/index.ts';
import { redisFailed } from '../store/ingress-connection.ts';

/** What every refusal looks like: RFC 9457, with the field, its value and what would do. */
export const problemSchema = z.object({
  type: z.string(),
  title: z.string(),
  status: z.number().int(),
  code: z.string(),
  detail: z.string(),
  /** Where the bad value stands, for example `requester.assurance`. */
  field: z.string().optional(),
  value: z.unknown().optional(),
  /** What to do about it. */
  fix: z.string().optional(),
  requestId: z.string(),
});

const TITLES = {
  400: 'Bad request',
  401: 'Who are you?',
  403: 'Not allowed',
  404: 'Not found',
  406: 'Not acceptable',
  409: 'Conflict',
  413: 'Too large',
  415: 'Unknown media type',
  422: 'Contradiction',
  429: 'Too many requests',
  500: 'A defect of ours',
  503: 'Not now',
} as const;
export type ProblemStatus = keyof typeof TITLES;

export type ProblemFacts = {
  code: string;
  detail: string;
  field?: string;
  value?: unknown;
  fix?: string;
  /** Seconds until it makes sense to try again. */
  retryAfter?: number;
};

/** A request that is not served: the status, and what the caller is told. */
export class Problem extends TurnkeeperError {
  readonly code: string;
  readonly status: ProblemStatus;
  readonly facts: ProblemFacts;

  constructor(status: ProblemStatus, facts: ProblemFacts, options?: ErrorOptions) {
    super(facts.detail, options);
    this.status = status;
    this.code = facts.code;
    this.facts = facts;
  }
}

export function notFound(what: string, id: string): Problem {
  return new Problem(404, {
    code: 'not_found',
    detail: `there is no ${what} ${JSON.stringify(id)} that this key may see`,
  });
}

/** Seconds a caller is asked to wait when Redis cannot be reached. */
const RETRY_AFTER = 5;

/** Redis gave no answer. The caller may repeat: a message that was stored is known then. */
export function notStored(cause: unknown): Problem {
  return new Problem(
    503,
    {
      code: 'not_stored',
      detail: 'it is not known whether this was stored',
      fix: 'send the same again after Retry-After seconds; nothing is doubled',
      retryAfter: RETRY_AFTER,
    },
    { cause },
  );
}

/** Fastify's own refusals, in our words. */
const FASTIFY: Readonly<Record<string, readonly [ProblemStatus, string, string]>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: [413, 'the body is too large', 'send less at a time'],
  FST_ERR_CTP_INVALID_MEDIA_TYPE: [
    415,
    'the content type is not understood here',
    'send application/json',
  ],
  FST_ERR_CTP_INVALID_JSON_BODY: [400, 'the body is not JSON', 'send one JSON object'],
  FST_ERR_CTP_EMPTY_JSON_BODY: [400, 'the body is empty', 'send one JSON object'],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: [
    400,
    'the body is not as long as Content-Length says',
    'send it again',
  ],
  FST_UNDER_PRESSURE: [
    503,
    'this process has more to do than it can',
    'try again after Retry-After seconds',
  ],
};

export function problemOf(error: FastifyError | Problem | Error): Problem {
  if (error instanceof Problem) return error;
  const code = 'code' in error ? String(error.code) : '';
  const known = FASTIFY[code];
  if (known !== undefined) {
    const [status, detail, fix] = known;
    return new Problem(status, { code: code.toLowerCase(), detail, fix });
  }
  if (redisFailed(error)) return notStored(error);
  if (error instanceof InvalidInputError) {
    return new Problem(400, { code: error.code, detail: error.message, field: error.field });
  }
  const status = 'statusCode' in error ? Number(error.statusCode) : 500;
  if (status in TITLES && status < 500) {
    return new Problem(status as ProblemStatus, { code: 'refused', detail: error.message });
  }
  // Our error texts may hold what somebody wrote; the log has the whole of it.
  return new Problem(
    500,
    {
      code: error instanceof TurnkeeperError ? error.code : 'internal',
      detail: 'this request could not be served; the log of the service says why',
    },
    { cause: error },
  );
}

export function sendProblem(
  error: FastifyError | Problem | Error,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  const problem = problemOf(error);
  const { status, facts } = problem;
  const { retryAfter, ...said } = facts;
  if (status >= 500) request.log.error({ err: problem.cause ?? error }, 'request failed');
  if (retryAfter !== undefined) void reply.header('retry-after', String(retryAfter));
  if (status === 401) void reply.header('www-authenticate', 'Bearer realm="turnkeeper"');
  return reply
    .code(status)
    .header('content-type', 'application/problem+json; charset=utf-8')
    .send(
      JSON.stringify({
        type: `urn:turnkeeper:problem:${facts.code}`,
        title: TITLES[status],
        status,
        ...said,
        requestId: request.id,
      }),
    );
}
