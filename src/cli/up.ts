import type { Command } from 'commander';
import { loadAgent, maskedUrl, type LoadedAgent, type Settings } from '../config/index.ts';
import { startRedis } from '../store/embedded-redis.ts';
import { storedLanes } from '../store/records.ts';
import { askedToStop } from './asked-to-stop.ts';
import { reachRedis } from './connection.ts';
import type { ExitCode } from './errors.ts';
import { perform, type Invocation } from './invocation.ts';
import { addModelFile, withModelFile } from './model-file.ts';
import type { Output } from './output.ts';
import { DATA_FOLDER } from './redis-place.ts';
import { readRedisFacts, type RedisFacts } from './redis-settings.ts';
import { version } from './version.ts';
import { visible } from './visible-text.ts';
import { count } from './wording.ts';

export function addUp(program: Command): void {
  addModelFile(
    program
      .command('up')
      .description(
        'Everything on this machine: Redis, if REDIS_URL names none, and a worker. Ctrl-C ends it.',
      ),
  )
    .addHelpText('after', `\nRedis keeps its data in ${DATA_FOLDER} of this directory.`)
    .action((options: unknown, command: Command) =>
      perform(command, (invocation) => up(invocation, options)),
    );
}

type RunningRedis = { url: string; stop: () => Promise<void>; origin: string };

async function up({ settings, out, configFile }: Invocation, options: unknown): Promise<ExitCode> {
  // Before anything is started, so that a mistake in it leaves nothing running.
  const loaded = withModelFile(
    await loadAgent(configFile === undefined ? {} : { file: configFile }),
    options,
  );
  const asked = askedToStop();
  const redis = await findOrStartRedis(settings);
  try {
    const place: Settings = { ...settings, REDIS_URL: redis.url };
    const { facts, lanes } = await look(place);
    const { runUntilSignal, startWorkers } = await import('./run-workers.ts');
    const turnkeeper = await startWorkers({
      settings,
      redisUrl: redis.url,
      lanes,
      loaded,
      alone: true,
    });
    out.outlivesItsReader();
    report(out, { settings, loaded, redis, facts, lanes });
    return await runUntilSignal(asked, turnkeeper, out, redis.stop);
  } catch (error) {
    await redis.stop();
    throw error;
  }
}

async function findOrStartRedis(settings: Settings): Promise<RunningRedis> {
  const { REDIS_URL } = settings;
  if (REDIS_URL !== undefined) {
    return { url: REDIS_URL, stop: () => Promise.resolve(), origin: 'REDIS_URL' };
  }
  const { url, stop, joined, origin } = await startRedis({ dataDir: DATA_FOLDER });
  const how = joined
    ? 'joined another process'
    : origin === 'path'
      ? 'started'
      : "started from Debian's packages";
  return { url, stop, origin: `${how}, data in ${DATA_FOLDER}` };
}

async function look(settings: Settings): Promise<{ facts: RedisFacts; lanes: number }> {
  const { redis } = await reachRedis(settings);
  try {
    const stored = await storedLanes(redis, settings.TURNKEEPER_PREFIX);
    return { facts: await readRedisFacts(redis), lanes: settings.LANES ?? stored ?? 1 };
  } finally {
    redis.disconnect();
  }
}

type Report = {
  settings: Settings;
  loaded: LoadedAgent;
  redis: RunningRedis;
  facts: RedisFacts;
  lanes: number;
};

/** What was checked, with its value. */
function report(out: Output, { settings, loaded, redis, facts, lanes }: Report): void {
  const { agent, file } = loaded;
  const { version: redisVersion = 'unknown', appendonly, appendfsync, maxmemoryPolicy } = facts;
  const { rules, tools, skills } = agent;
  const slots = `${count(settings.CONCURRENCY, 'conversation')} at a time`;
  const durable =
    appendonly === 'yes' && appendfsync === 'always' && maxmemoryPolicy === 'noeviction';
  const lines = [
    {
      part: 'redis',
      ok: durable,
      text:
        `${redisVersion} at ${maskedUrl(redis.url).replace(/^rediss?:\/\//, '')} (${redis.origin}), ` +
        `${maxmemoryPolicy ?? 'policy unknown'}, append-only ${appendonly === 'yes' ? appendfsync : 'off'}`,
    },
    {
      part: 'agent',
      ok: true,
      text: `${rules.name}, ${count(tools.length, 'tool')}, ${count(skills.length, 'skill')}, from ${file}`,
    },
    {
      part: 'worker',
      ok: true,
      text: `${slots}, ${count(lanes, 'lane')}, prefix ${settings.TURNKEEPER_PREFIX}, lock 3 s`,
    },
  ];
  if (out.format !== 'table') {
    if (out.format !== 'id')
      out.card({ ready: true, checks: lines }, { id: () => '', text: () => '' });
    return;
  }
  out.write(out.strong(`turnkeeper ${version()}`));
  for (const { part, ok, text } of lines) {
    const state = ok ? out.mark('good', 'ok') : out.mark('attention', 'see turnkeeper doctor');
    out.write(`  ${part.padEnd(8)}  ${visible(text)}  ${state}`);
  }
  out.write('Ready. Hand messages in with "turnkeeper enqueue <file>"; stop with Ctrl-C.');
}
