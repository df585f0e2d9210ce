import pino, { type Logger } from 'pino';
import type { LoadedAgent, Settings } from '../config/index.ts';
import { LOG_REDACTION } from '../telemetry/index.ts';
import { startObserving } from './observing.ts';
import { createTurnkeeper, type Turnkeeper } from '../turnkeeper.ts';
import { EXIT, type ExitCode } from './errors.ts';
import type { Output } from './output.ts';

/** Structured lines on stderr: stdout belongs to the data. */
function stderrLogger(level: Settings['LOG_LEVEL']): Logger {
  return pino({ level, redact: LOG_REDACTION }, pino.destination(2));
}

/** @throws LaneCountError, IncompleteToolError */
export async function startWorkers(options: {
  settings: Settings;
  redisUrl: string;
  lanes: number;
  loaded: LoadedAgent;
  /** No other process of the deployment reports the state of all. */
  alone?: boolean;
}): Promise<Turnkeeper> {
  const { settings, redisUrl, lanes, loaded } = options;
  const logger = stderrLogger(settings.LOG_LEVEL);
  const { agent } = loaded;
  const { meter, tracer, serve } = await startObserving(settings, agent, logger);
  const turnkeeper = await createTurnkeeper({
    ...{ agent, redisUrl, lanes, logger, meter },
    prefix: settings.TURNKEEPER_PREFIX,
    ...(tracer === undefined ? {} : { tracer }),
  });
  try {
    await turnkeeper.startWorkers({
      concurrency: settings.CONCURRENCY,
      messagesPerWakeUp: settings.MESSAGES_PER_WAKE_UP,
      strictTraces: settings.NODE_ENV !== 'production',
      // Its lock is renewed as long as this process lives; whoever watches over it starts it again.
      onHung: () => process.exit(EXIT.failed),
    });
    await serve(turnkeeper.store, options.alone === true ? turnkeeper.queues : undefined);
    return turnkeeper;
  } catch (error) {
    turnkeeper.store.redis.disconnect();
    throw error;
  }
}

/** Milliseconds from the signal until the process ends whatever is still going on. */
const GRACE_MS = 15_000;

/** Waits for the signal, then lets the turns at hand come to rest and closes everything. */
export async function runUntilSignal(
  asked: Promise<NodeJS.Signals>,
  turnkeeper: Turnkeeper,
  out: Output,
  stopRedis: () => Promise<void> = () => Promise.resolve(),
): Promise<ExitCode> {
  const signal = await asked;
  out.note('stopping: turns at hand finish or park (again to stop at once)');
  const code = signal === 'SIGINT' ? EXIT.interrupted : EXIT.ok;
  const overdue = setTimeout(() => process.exit(code), GRACE_MS);
  await turnkeeper.close();
  await stopRedis();
  clearTimeout(overdue);
  return code;
}
