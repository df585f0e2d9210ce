import pino from 'pino';
import { z } from 'zod';
import { technovaAgent } from '../../examples/technova/agent/agent.ts';
import { createTurnkeeper } from '../../src/index.ts';
import { LOG_REDACTION } from '../../src/telemetry/index.ts';
import { localModel } from './local-model.ts';
import { CONCURRENCY, PLAY } from './play-settings.ts';

/** One worker process of the demo. Says by what name the store knows it when it is ready, and ends on SIGTERM. */
const { REDIS_URL, ORDER_SERVICE_URL, TICKET_DESK_URL, WORKER_LOG, MODEL_URL } = z
  .object({
    REDIS_URL: z.url(),
    ORDER_SERVICE_URL: z.url(),
    TICKET_DESK_URL: z.url(),
    /** File of the step log. */
    WORKER_LOG: z.string().min(1),
    /** Empty: the scripted model. */
    MODEL_URL: z.string(),
  })
  .parse(process.env);

const turnkeeper = await createTurnkeeper({
  agent: technovaAgent({
    orderServiceUrl: ORDER_SERVICE_URL,
    ticketDeskUrl: TICKET_DESK_URL,
    ...localModel(MODEL_URL),
  }),
  redisUrl: REDIS_URL,
  logger: pino({ redact: LOG_REDACTION }, pino.destination(WORKER_LOG)),
  ...PLAY,
});
const { workerId } = await turnkeeper.startWorkers({ concurrency: CONCURRENCY });

let stopping = false;
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
  process.on(signal, () => {
    // A Ctrl-C comes from the terminal and from the demo.
    if (stopping) return;
    stopping = true;
    void turnkeeper.close().then(() => process.exit(0));
  });
}
// The ready line of a service; a worker has no address, only a name.
process.stdout.write(`${JSON.stringify({ listening: workerId })}\n`);
