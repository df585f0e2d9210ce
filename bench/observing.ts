import { fork } from 'node:child_process';
import { once } from 'node:events';
import pino from 'pino';
import { PrometheusMeter } from '../src/telemetry/metrics/index.ts';
import { startTracer } from '../src/telemetry/otel/index.ts';
import { turnsPerSecond } from './measure/turns.ts';
import type { Observed } from './rig/pipeline.ts';
import { BenchRedis } from './rig/redis.ts';
import { median } from './rig/statistics.ts';

// What observing costs: full turns with the step log, metrics and exported traces, beside the same turns with none of them,
// one right after the other. `node bench/observing.ts`: one JSON object.

const TURNS = 3_000;
const PAIRS = 7;
/** Share of the throughput that must be left. */
const TARGET = 0.8;

const redis = await BenchRedis.start();
const sink = fork(new URL('otlp-sink.ts', import.meta.url));
const [endpoint] = (await once(sink, 'message')) as [string];
const meter = new PrometheusMeter({ tools: ['get_line'], sources: ['bench'] });
const tracer = await startTracer({
  ...{ endpoint, version: 'bench', agent: 'bench', meter, logger: pino({ level: 'silent' }) },
  model: { provider: 'scripted', name: 'scripted' },
});
const everything: Observed = { logger: pino(pino.destination('/dev/null')), meter, tracer };

let runs = 0;
/** Turns a second, and what one cost this process. */
async function measure(observed: Observed): Promise<{ perSecond: number; micros: number }> {
  await redis.empty();
  runs += 1;
  const before = process.cpuUsage();
  const perSecond = await turnsPerSecond({
    ...{ redisUrl: redis.url, prefix: `observe-${runs}-`, work: 'read', duties: 'turns' },
    ...{ conversations: TURNS, messages: 1, observed },
  });
  const { user, system } = process.cpuUsage(before);
  return { perSecond, micros: (user + system) / TURNS };
}

try {
  for (const observed of [{}, everything]) await measure(observed);
  const pairs = [];
  for (let pair = 0; pair < PAIRS; pair += 1) {
    // What warms up or cools down meanwhile is no side's gain.
    const [first, second] = pair % 2 === 0 ? [{}, everything] : [everything, {}];
    const results = [await measure(first), await measure(second)];
    const [off, on] = pair % 2 === 0 ? results : results.toReversed();
    if (off !== undefined && on !== undefined) pairs.push({ off, on });
  }
  const throughput = median(pairs.map(({ off, on }) => on.perSecond / off.perSecond));
  const cpu = median(pairs.map(({ off, on }) => off.micros / on.micros));
  const figures = { throughput, cpu, turns: TURNS, pairs: PAIRS, target: TARGET };
  process.stdout.write(`${JSON.stringify({ ...figures, kept: throughput >= TARGET })}\n`);
} finally {
  await tracer.close();
  sink.disconnect();
  await redis.stop();
}
