import { z } from 'zod';
import { ticketDesk } from '../../examples/technova/agent/ticket-desk.ts';
import { defineAgent } from '../../src/config/index.ts';
import { scriptedModel } from '../../src/models/index.ts';
import { createTurnkeeper } from '../../src/turnkeeper.ts';
import { crashTools } from '../crash/tools.ts';
import { policy } from './policy.ts';

/** One worker process of the reprocessing test. It ends with the process that forked it. */
const settings = z
  .object({
    REDIS_URL: z.url(),
    PREFIX: z.string().min(1),
    ORDER_SERVICE_URL: z.url(),
    TICKET_DESK_URL: z.url(),
  })
  .parse(process.env);

process.on('disconnect', () => process.exit(1));

const turnkeeper = await createTurnkeeper({
  agent: defineAgent({
    name: 'reprocessing test',
    instructions: 'Do what the customer asks for.',
    tools: crashTools(settings.ORDER_SERVICE_URL, { timeoutMs: 2_000 }),
    model: scriptedModel(policy, { microsPerToken: 2 }),
    target: ticketDesk(settings.TICKET_DESK_URL),
    approvalLimits: { EUR: 1_000_000 },
    limits: { rounds: 12, consecutiveFailures: 50, identicalFailures: 50, tokens: 10_000_000 },
  }),
  redisUrl: settings.REDIS_URL,
  prefix: settings.PREFIX,
  slackMs: 1_000,
});
await turnkeeper.startWorkers({ reconcileEveryMs: 250, sendTimeoutMs: 2_000, concurrency: 20 });
process.send?.('ready');
