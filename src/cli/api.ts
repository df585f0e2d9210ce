import { InvalidArgumentError, type Command } from 'commander';
import { loadAgent, maskedUrl } from '../config/index.ts';
import { Batches } from '../store/index.ts';
import { LOG_REDACTION } from '../telemetry/index.ts';
import { askedToStop } from './asked-to-stop.ts';
import { withQueues } from './connection.ts';
import { EXIT, type ExitCode } from './errors.ts';
import { perform, type Invocation } from './invocation.ts';
import { wholeNumber } from './whole-number.ts';

type ApiSettings = {
  port: number;
  host: string;
  publicUrl?: string;
  trustProxy: string[];
  /** Seconds. */
  sweepEvery: number;
};

export function addApi(program: Command): void {
  program
    .command('api')
    .description(
      'The HTTP service: takes messages and webhooks in, and lets people look and act. Ctrl-C ends it.',
    )
    .option('--port <n>', 'where it listens; 0 for one that is free', portNumber, 4_477)
    .option('--host <address>', 'on which address; 0.0.0.0 for all of them', '127.0.0.1')
    .option('--public-url <url>', 'what ticketing systems call it by; some sign the address')
    .option(
      '--trust-proxy <address>',
      'a proxy whose X-Forwarded-For is believed; may be given several times',
      (one: string, before: string[]) => [...before, one],
      [],
    )
    .option(
      '--sweep-every <seconds>',
      'how often sources with an api are looked through for what never arrived',
      wholeNumber(86_400),
      300,
    )
    .addHelpText('after', '\nEverybody needs a key: turnkeeper keys create --help')
    .action((options: ApiSettings, command: Command) =>
      perform(command, (invocation) => api(invocation, options)),
    );
}

function portNumber(text: string): number {
  const port = Number(text);
  if (/^\d{1,5}$/.test(text) && port <= 65_535) return port;
  throw new InvalidArgumentError('It must be a whole number from 0 to 65535.');
}

async function api(
  { settings, out, configFile }: Invocation,
  options: ApiSettings,
): Promise<ExitCode> {
  const asked = askedToStop();
  return withQueues(settings, async ({ url: redisUrl, store, queues, records }) => {
    await store.open();
    const { startApi } = await import('../http/index.ts');
    const { BatchControl, Operator, Reprocess } = await import('../producers/index.ts');
    const { Sweep } = await import('../producers/sweep.ts');
    const { SweepTimer } = await import('../producers/sweep-timer.ts');
    const { pino } = await import('pino');
    const { startObserving } = await import('./observing.ts');
    const { agent } = await loadAgent(configFile === undefined ? {} : { file: configFile });
    const operator = new Operator({ store, queues, records });
    const now = (): number => store.clock().now();
    const batches = new Batches(store);
    const control = new BatchControl(batches, queues, now);
    const logger = pino({ level: settings.LOG_LEVEL, redact: LOG_REDACTION }, pino.destination(2));
    const posted = (conversationId: string) => records.posted(conversationId);
    const { meter, serve } = await startObserving(settings, agent, logger);
    await serve(store, queues);
    const service = await startApi({
      ...{ store, queues, operator, sources: agent.sources },
      reprocess: new Reprocess({ batches, records, control, now }),
      webhooks: {
        posted,
        changed: (conversationId, change) => operator.ticketChanged(conversationId, change),
      },
      ...options,
      logger,
      meter,
    });
    const sweeps = new SweepTimer({
      ...{ sources: agent.sources, logger },
      sweep: new Sweep({ store, queues, operator, posted }),
      everyMs: options.sweepEvery * 1_000,
    });
    out.outlivesItsReader();
    const ready = { ready: true, url: service.url, redis: maskedUrl(redisUrl) };
    if (out.format !== 'id') {
      const text = `listening on ${service.url}, documentation at ${service.url}/docs; stop with Ctrl-C`;
      out.card(ready, { id: () => '', text: () => text });
    }
    const signal = await asked;
    out.note('stopping: requests at hand are answered (again to stop at once)');
    await Promise.all([service.close(), sweeps.stop()]);
    return signal === 'SIGINT' ? EXIT.interrupted : EXIT.ok;
  });
}
