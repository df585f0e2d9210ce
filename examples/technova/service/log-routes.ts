import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { parseInput } from './http-server.ts';
import { Problem } from './problem.ts';
import type { EventLog } from './event-log.ts';

const LogQuery = z.strictObject({
  after: z.coerce.number().int().min(0).default(0),
  kind: z.string().optional(),
  operation: z.string().optional(),
  /** An order or conversation id. */
  subject: z.string().optional(),
});

const WaitQuery = z.strictObject({
  wait: z.string({ error: 'name the event to wait for, such as applied:refund:4482' }).min(1),
  after: z.coerce.number().int().min(0).default(0),
  timeoutMs: z.coerce.number().int().min(1).max(120_000).default(10_000),
});

/** The log to read back, and a long-poll that answers when something has been written to it. */
export function addLogRoutes(app: FastifyInstance, log: EventLog, closing: AbortSignal): void {
  app.get('/log', (request) => ({ entries: log.entries(parseInput(LogQuery, request.query)) }));

  app.get('/admin/events', async (request) => {
    const { wait, after, timeoutMs } = parseInput(WaitQuery, request.query);
    const entry = await log.waitFor(wait, { after, timeoutMs, closing });
    if (entry === undefined)
      throw new Problem(408, 'timed_out', `${wait} did not happen within ${timeoutMs} ms.`);
    return entry;
  });
}
