import type { Command } from 'commander';
import { loadAgent, maskedUrl } from '../config/index.ts';
import { storedLanes } from '../store/records.ts';
import { askedToStop } from './asked-to-stop.ts';
import { reachRedis } from './connection.ts';
import type { ExitCode } from './errors.ts';
import { perform, type Invocation } from './invocation.ts';
import { addModelFile, withModelFile } from './model-file.ts';
import { count } from './wording.ts';

export function addWorker(program: Command): void {
  addModelFile(
    program
      .command('worker')
      .description(
        'One more worker process on the Redis of REDIS_URL, or on the one "up" runs in this directory.',
      ),
  ).action((options: unknown, command: Command) =>
    perform(command, (invocation) => worker(invocation, options)),
  );
}

async function worker(
  { settings, out, configFile }: Invocation,
  options: unknown,
): Promise<ExitCode> {
  const loaded = withModelFile(
    await loadAgent(configFile === undefined ? {} : { file: configFile }),
    options,
  );
  const asked = askedToStop();
  const { redis, url } = await reachRedis(settings);
  const stored = await storedLanes(redis, settings.TURNKEEPER_PREFIX).finally(() =>
    redis.disconnect(),
  );
  const lanes = settings.LANES ?? stored ?? 1;
  const { runUntilSignal, startWorkers } = await import('./run-workers.ts');
  const turnkeeper = await startWorkers({ settings, redisUrl: url, lanes, loaded });
  out.outlivesItsReader();
  const { name } = loaded.agent.rules;
  const ready = {
    ready: true,
    agent: name,
    redis: maskedUrl(url),
    lanes,
    concurrency: settings.CONCURRENCY,
  };
  if (out.format !== 'id') {
    const slots = `${count(settings.CONCURRENCY, 'conversation')} at a time, ${count(lanes, 'lane')}`;
    const text = `worker ready: ${name} on ${ready.redis}, ${slots}; stop with Ctrl-C`;
    out.card(ready, { id: () => '', text: () => text });
  }
  return runUntilSignal(asked, turnkeeper, out);
}
