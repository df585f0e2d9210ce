import { fork } from 'node:child_process';
import { once } from 'node:events';
import pino from 'pino';
import { PrometheusMeter } from '../src/telemetry/metrics/index.ts';
import { startTracer } from '../src/telemetry/otel/index.ts';
import { turnsPerSecond } from './measure/turns.ts';
import type { Observed } from './rig/pipeline.ts';
import { BenchRedis } from './rig/redis.ts';
import { median } from './rig/statistics.ts';

// What observing costs: full turns with the step log, metrics and exported traces, beside the same turns with traces off
// and with nothing on, one right after the other. `node bench/observing.ts`: one JSON object.

const TURNS = 3_000;
const ROUNDS = 7;
/** Share of the throughput without traces that must be left with everything on. */
const TARGET = 0.8;

const redis = await BenchRedis.start();
const sink = fork(new URL('otlp-sink.ts', import.meta.url));
const [endpoint] = (await once(sink, 'message')) as [string];
const meter = new PrometheusMeter({ tools: ['get_line'], sources: ['bench'] });
const tracer = await startTracer({
  ...{ endpoint, version: 'bench', agent: 'bench', meter, logger: pino({ level: 'silent' }) },
  model: { provider: 'scripted', name: 'scripted' },
});
const logger = pino(pino.destination('/dev/null'));
const KINDS = {
  everything: { logger, meter, tracer },
  withoutTraces: { logger, meter },
  nothing: {},
} satisfies Record<string, Observed>;
type Kind = keyof typeof KINDS;
type Measured = { perSecond: number; micros: number };

let runs = 0;
/** Turns a second, and what one cost this process. */
async function measure(observed: Observed): Promise<Measured> {
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
  const kinds = Object.keys(KINDS) as Kind[];
  for (const kind of kinds) await measure(KINDS[kind]);
  const rounds: Record<Kind, Measured>[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    // What warms up or cools down meanwhile is no side's gain.
    const order = round % 2 === 0 ? kinds : kinds.toReversed();
    const results: [Kind, Measured][] = [];
    for (const kind of order) results.push([kind, await measure(KINDS[kind])]);
    rounds.push(Object.fromEntries(results) as Record<Kind, Measured>);
  }
  const beside = (kind: Kind) => ({
    throughput: median(rounds.map((one) => one.everything.perSecond / one[kind].perSecond)),
    cpu: median(rounds.map((one) => one[kind].micros / one.everything.micros)),
  });
  const withoutTraces = beside('withoutTraces');
  const lost = Number(/spans_dropped_total (\d+)/.exec(await meter.text())?.[1]);
  const figures = { withoutTraces, nothing: beside('nothing'), turns: TURNS, rounds: ROUNDS };
  const kept = withoutTraces.throughput >= TARGET;
  process.stdout.write(`${JSON.stringify({ ...figures, lost, target: TARGET, kept })}\n`);
} finally {
  await tracer.close();
  sink.disconnect();
  await redis.stop();
}
