import { hash } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import pino from 'pino';
import { z } from 'zod';
import { ticketDesk } from '../../examples/technova/agent/ticket-desk.ts';
import { defineAgent } from '../../src/config/index.ts';
import type { View } from '../../src/loop/index.ts';
import { scriptedModel, type ScriptedAnswer } from '../../src/models/index.ts';
import { createTurnkeeper } from '../../src/turnkeeper.ts';
import { APPROVAL_LIMIT } from './load.ts';
import { policy } from './policy.ts';
import { crashTools } from './tools.ts';

/**
 * One worker process of the crash test: the product's own workers with the policy and the tools of the test. It ends with
 * the process that forked it and blocks its event loop when told to.
 */
const settings = z
  .object({
    REDIS_URL: z.url(),
    ORDER_SERVICE_URL: z.url(),
    TICKET_DESK_URL: z.url(),
    WORKER_LOG: z.string().min(1),
    /** The rest is milliseconds. */
    TOOL_TIMEOUT_MS: z.coerce.number(),
    SEND_TIMEOUT_MS: z.coerce.number(),
    SLACK_MS: z.coerce.number(),
    RECONCILE_EVERY_MS: z.coerce.number(),
    MODEL_MS: z.coerce.number(),
    /** Conversations at a time. */
    CONCURRENCY: z.coerce.number(),
    MESSAGES_PER_WAKE_UP: z.coerce.number(),
    WHILE_WAITING: z.enum(['buffer', 'supersede']),
  })
  .parse(process.env);

/** What the parent may say. */
export type Order = { blockMs: number };

process.on('disconnect', () => process.exit(1));
process.on('message', ({ blockMs }: Order) => {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, blockMs);
});

/** A model takes its time; how much depends on what it sees, as everything it does. */
async function think(view: View): Promise<void> {
  const draw = hash('sha256', JSON.stringify([view.messages, view.rounds.length]), 'buffer');
  await pause(settings.MODEL_MS * (0.5 + draw.readUInt16BE(0) / 65_535));
}

/** A message that begins with `later` and a time finds the provider overloaded until then. */
function answer(view: View): ScriptedAnswer {
  const [first, ...others] = view.messages;
  const [, until, text] = /^later (\d+) (.*)$/.exec(first?.text ?? '') ?? [];
  if (text === undefined) return policy(view);
  const retryAt = Number(until);
  if (Date.now() < retryAt) return { kind: 'fails', failure: { kind: 'overloaded', retryAt } };
  return policy({ ...view, messages: [{ ...first, text }, ...others] });
}

const agent = defineAgent({
  name: 'crash test',
  instructions: 'Do what the customer asks for.',
  tools: crashTools(settings.ORDER_SERVICE_URL, { timeoutMs: settings.TOOL_TIMEOUT_MS }),
  model: scriptedModel(async (view) => {
    await think(view);
    return answer(view);
  }),
  target: ticketDesk(settings.TICKET_DESK_URL),
  approvalLimits: { EUR: APPROVAL_LIMIT },
  whileWaiting: settings.WHILE_WAITING,
  // Crash after crash must not end a turn by its budget: what is under test is that it gets through.
  limits: {
    rounds: 50,
    toolCalls: 50,
    consecutiveFailures: 50,
    identicalFailures: 50,
    modelFailures: 50,
    parks: 50,
    tokens: 100_000_000,
    deadlineMs: 3_600_000,
  },
});

const turnkeeper = await createTurnkeeper({
  agent,
  redisUrl: settings.REDIS_URL,
  slackMs: settings.SLACK_MS,
  logger: pino(
    { level: 'warn' },
    pino.destination({ dest: settings.WORKER_LOG, sync: true, append: true }),
  ),
});
const { workerId } = await turnkeeper.startWorkers({
  reconcileEveryMs: settings.RECONCILE_EVERY_MS,
  sendTimeoutMs: settings.SEND_TIMEOUT_MS,
  concurrency: settings.CONCURRENCY,
  messagesPerWakeUp: settings.MESSAGES_PER_WAKE_UP,
});
process.send?.({ workerId });
