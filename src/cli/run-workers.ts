import pino, { type Logger } from 'pino';
import type { LoadedAgent, Settings } from '../config/index.ts';
import { REDACTED_PATHS } from '../telemetry/index.ts';
import { createTurnkeeper, type Turnkeeper } from '../turnkeeper.ts';
import { EXIT, type ExitCode } from './errors.ts';
import type { Output } from './output.ts';

export type RunningWorkers = { turnkeeper: Turnkeeper; lanes: number };

/** Structured lines on stderr: stdout belongs to the data. */
export function stderrLogger(level: Settings['LOG_LEVEL']): Logger {
  return pino({ level, redact: [...REDACTED_PATHS] }, pino.destination(2));
}

/** @throws LaneCountError, IncompleteToolError */
export async function startWorkers(options: {
  settings: Settings;
  redisUrl: string;
  lanes: number;
  loaded: LoadedAgent;
}): Promise<Turnkeeper> {
  const { settings, redisUrl, lanes, loaded } = options;
  const turnkeeper = await createTurnkeeper({
    agent: loaded.agent,
    redisUrl,
    lanes,
    prefix: settings.TURNKEEPER_PREFIX,
    logger: stderrLogger(settings.LOG_LEVEL),
  });
  try {
    await turnkeeper.startWorkers({
      concurrency: settings.CONCURRENCY,
      messagesPerWakeUp: settings.MESSAGES_PER_WAKE_UP,
      strictTraces: settings.NODE_ENV !== 'production',
    });
    return turnkeeper;
  } catch (error) {
    turnkeeper.store.redis.disconnect();
    throw error;
  }
}

/** Milliseconds from the signal until the process ends whatever is still going on. */
const GRACE_MS = 15_000;

/**
 * Waits for Ctrl-C or SIGTERM, then lets the turns at hand come to rest and closes everything. A second signal ends the
 * process at once.
 */
export async function runUntilSignal(
  turnkeeper: Turnkeeper,
  out: Output,
  stopRedis: () => Promise<void> = () => Promise.resolve(),
): Promise<ExitCode> {
  const { promise, resolve } = Promise.withResolvers<NodeJS.Signals>();
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  let signalled = false;
  for (const signal of signals) {
    process.on(signal, () => {
      if (signalled) process.exit(EXIT.interrupted);
      signalled = true;
      resolve(signal);
    });
  }
  const signal = await promise;
  out.note('stopping: turns at hand finish or park (again to stop at once)');
  const code = signal === 'SIGINT' ? EXIT.interrupted : EXIT.ok;
  const overdue = setTimeout(() => process.exit(code), GRACE_MS);
  await turnkeeper.close();
  await stopRedis();
  clearTimeout(overdue);
  return code;
}
