import { z } from 'zod';
import type { Api, Parts } from '../parts.ts';

const readySchema = z.object({
  ready: z.boolean(),
  redis: z.string(),
  queue: z.string(),
  progress: z.string(),
});
type Readiness = z.infer<typeof readySchema>;

/** A conversation that nobody has looked at for this long after it was due: no worker is there. Milliseconds. */
const OVERDUE_MS = 60_000;
/** Whoever asks more often gets the last answer. Milliseconds. */
const REMEMBERED_MS = 1_000;

export function addHealth(api: Api, parts: Parts, metrics?: () => Promise<string>): void {
  const open = { access: 'public', rateLimit: false, pressureHandler: () => undefined } as const;

  api.route({
    method: 'GET',
    url: '/healthz',
    config: open,
    schema: {
      operationId: 'health',
      summary: 'This process runs',
      tags: ['service'],
      response: { 200: z.object({ ok: z.literal(true) }) },
    },
    handler: () => ({ ok: true as const }),
  });

  let asked: { until: number; answer: Promise<Readiness> } | undefined;
  api.route({
    method: 'GET',
    url: '/readyz',
    config: open,
    schema: {
      operationId: 'ready',
      summary: 'Redis takes writes, the queues can be reached, and work is being done',
      tags: ['service'],
      response: { 200: readySchema, 503: readySchema },
    },
    handler: async (_request, reply) => {
      if (asked === undefined || asked.until <= performance.now()) {
        asked = { until: performance.now() + REMEMBERED_MS, answer: look(parts) };
      }
      const answer = await asked.answer;
      return reply.code(answer.ready ? 200 : 503).send(answer);
    },
  });

  if (metrics === undefined) return;
  api.route({
    method: 'GET',
    url: '/metrics',
    config: open,
    schema: { operationId: 'metrics', summary: 'Metrics for Prometheus', tags: ['service'] },
    handler: async (_request, reply) =>
      reply
        .header('content-type', 'text/plain; version=0.0.4; charset=utf-8')
        .send(await metrics()),
  });
}

/** Never throws: what is wrong is the answer. */
async function look({ store, queues, records, http }: Parts): Promise<Readiness> {
  const [redis, queue, progress] = await Promise.all([
    said(async () => {
      await http.probe();
      return 'ok';
    }),
    said(async () => {
      await Promise.all(store.tags().map((tag) => queues.inLane('turns', tag).getWaitingCount()));
      return 'ok';
    }),
    said(async () => {
      const due = await records.oldestDue();
      const lateMs = due === undefined ? 0 : store.clock().now() - due.dueAt;
      return lateMs > OVERDUE_MS
        ? `the oldest ${due?.kind} is overdue for ${Math.round(lateMs / 1_000)} s: is a worker running?`
        : 'ok';
    }),
  ]);
  return { ready: [redis, queue, progress].every((one) => one === 'ok'), redis, queue, progress };
}

async function said(check: () => Promise<string>): Promise<string> {
  try {
    return await check();
  } catch {
    return 'no answer from Redis';
  }
}
