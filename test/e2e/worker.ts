import pino from 'pino';
import { z } from 'zod';
import { createTurnkeeper } from '../../src/turnkeeper.ts';
import agent from './agent.ts';

/** One worker process of a run: the product's own workers, less patient than they ship. */
const settings = z
  .object({
    REDIS_URL: z.url(),
    WORKER_LOG: z.string().min(1),
    /** Milliseconds. */
    SEND_TIMEOUT_MS: z.coerce.number(),
    SLACK_MS: z.coerce.number(),
  })
  .parse(process.env);

const turnkeeper = await createTurnkeeper({
  agent,
  redisUrl: settings.REDIS_URL,
  slackMs: settings.SLACK_MS,
  logger: pino(
    { level: 'warn' },
    pino.destination({ dest: settings.WORKER_LOG, sync: true, append: true }),
  ),
});
await turnkeeper.startWorkers({
  reconcileEveryMs: 500,
  sendTimeoutMs: settings.SEND_TIMEOUT_MS,
  concurrency: 20,
});
process.stdout.write('ready\n');
