import pino from 'pino';
import { z } from 'zod';
import { ticketDesk } from '../../../examples/technova/agent/ticket-desk.ts';
import { createTurnkeeper, defineAgent, scriptedModel } from '../../../src/index.ts';
import { retailTools } from './contracts.ts';
import { loadTasks } from './data.ts';
import { policyFor } from './policy.ts';
import { ShopApi } from './shop-api.ts';

/** One worker process of the suite: the product's own workers. It ends with the process that forked it. */
const settings = z
  .object({
    REDIS_URL: z.url(),
    SHOP_URL: z.url(),
    DESK_URL: z.url(),
    WORKER_LOG: z.string().min(1),
  })
  .parse(process.env);

process.on('disconnect', () => process.exit(1));

const agent = defineAgent({
  name: 'retail',
  instructions: 'Do what the customer asks for.',
  tools: await retailTools(new ShopApi(settings.SHOP_URL)),
  model: scriptedModel(policyFor(loadTasks())),
  target: ticketDesk(settings.DESK_URL),
  // The longest tasks take more steps than a usual ticket, and lost calls and lost workers add to them.
  limits: {
    rounds: 80,
    toolCalls: 200,
    consecutiveFailures: 100,
    identicalFailures: 100,
    parks: 100,
    tokens: 100_000_000,
    deadlineMs: 3_600_000,
  },
});

const turnkeeper = await createTurnkeeper({
  agent,
  redisUrl: settings.REDIS_URL,
  slackMs: 1_000,
  logger: pino(
    { level: 'warn' },
    pino.destination({ dest: settings.WORKER_LOG, sync: true, append: true }),
  ),
});
await turnkeeper.startWorkers({ reconcileEveryMs: 500, sendTimeoutMs: 2_000 });
process.send?.('ready');
