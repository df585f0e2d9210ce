import Fastify from 'fastify';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { describeIssues } from './input-error.ts';
import { answerOf, Problem } from './problem.ts';

export interface HttpServer {
  app: FastifyInstance;
  /** Fires when the server begins to close. */
  closing: AbortSignal;
}

/** A fastify server with the two services' habits: one error shape, empty JSON bodies allowed, a prompt close. */
export function createHttpServer(): HttpServer {
  const closing = new AbortController();
  const app = Fastify({ forceCloseConnections: true, bodyLimit: 32 * 1024 * 1024 });
  app.addHook('preClose', () => closing.abort());
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (_request, text, done) => {
    try {
      done(null, text === '' ? {} : JSON.parse(String(text)));
    } catch {
      done(new Problem(400, 'invalid_json', 'The body is not JSON. Send a JSON object.'));
    }
  });
  app.setErrorHandler((error, _request, reply) => {
    const { status, body } = answerOf(problemOf(error));
    return reply.code(status).send(body);
  });
  app.setNotFoundHandler((request, reply) => {
    const problem = new Problem(
      404,
      'no_such_route',
      `There is no ${request.method} ${request.url}. See SERVICES.md for the paths.`,
    );
    return reply.code(404).send(answerOf(problem).body);
  });
  app.get('/health', () => ({ status: 'ok' }));
  return { app, closing: closing.signal };
}

/** Parses an inbound value; a bad one becomes a 422 that names field, value and fix. */
export function parseInput<S extends z.ZodType>(schema: S, value: unknown): z.infer<S> {
  const parsed = schema.safeParse(value ?? {});
  if (parsed.success) return parsed.data;
  throw new Problem(422, 'invalid_request', describeIssues(parsed.error, value).join('; '));
}

/** Listens and answers the base URL. Fails with a plain sentence when the port is taken. */
export async function listen(app: FastifyInstance, host: string, port: number): Promise<string> {
  try {
    return await app.listen({ host, port });
  } catch (error) {
    await app.close();
    if (codeOf(error) !== 'EADDRINUSE') throw error;
    throw new Error(
      `Port ${port} on ${host} is already in use. Stop the other process or set PORT to a free port (0 picks one).`,
    );
  }
}

function problemOf(error: unknown): Problem {
  if (error instanceof Problem) return error;
  const status = statusOf(error);
  if (status < 500)
    return new Problem(
      status,
      'invalid_request',
      error instanceof Error ? error.message : String(error),
    );
  return new Problem(500, 'internal', error instanceof Error ? error.message : String(error));
}

function statusOf(error: unknown): number {
  const seen = z.object({ statusCode: z.int() }).safeParse(error);
  return seen.success ? seen.data.statusCode : 500;
}

function codeOf(error: unknown): string | undefined {
  const seen = z.object({ code: z.string() }).safeParse(error);
  return seen.success ? seen.data.code : undefined;
}
