import { parseArgs } from 'node:util';
import { TurnkeeperError } from '../src/index.ts';
import { measureBacklog } from './measure/backlog.ts';
import { measureLatency } from './measure/latency.ts';
import { measureParkedMemory } from './measure/parked-memory.ts';
import { measureRecovery } from './measure/recovery.ts';
import { measureRoundTrips } from './measure/round-trips.ts';
import { measureThroughput } from './measure/throughput.ts';
import { reportOf, type Measured } from './report.ts';
import { BenchRedis } from './rig/redis.ts';
import { FULL, QUICK, type Size } from './rig/settings.ts';
import { table } from './table.ts';

const USAGE = `npm run -s bench -- [--quick] [--json]

  --quick  about a minute instead of about ten; leaves the largest backlog out
  --json   one JSON object on stdout, nothing else
`;

/** Progress is for people: it goes where it cannot end up in the figures. */
function progress(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001B[2K${text}`);
  else process.stderr.write(`${text}\n`);
}

async function measure(redis: BenchRedis, size: Size): Promise<Measured> {
  const throughput = await measureThroughput(redis, size, progress);
  progress('latency at 200 turns/s');
  const latency = await measureLatency(redis, size.latencySeconds);
  progress('commands per turn');
  const roundTrips = {
    busy: await measureRoundTrips(redis, 3_000, 'busy'),
    idle: await measureRoundTrips(redis, 50, 'idle'),
  };
  progress('memory of parked turns');
  const parkedMemory = await measureParkedMemory(redis, size.parkedTurns);
  const backlog = await measureBacklog(redis, size, progress);
  const recovery = await measureRecovery(redis, size, progress);
  if (process.stderr.isTTY) progress('');
  return { throughput, latency, roundTrips, parkedMemory, backlog, recovery };
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      quick: { type: 'boolean' },
      json: { type: 'boolean' },
      help: { type: 'boolean', short: 'h' },
    },
  });
  if (values.help === true) {
    process.stdout.write(USAGE);
    return;
  }
  const redis = await BenchRedis.start();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => void redis.stop().finally(() => process.exit(130)));
  }
  try {
    const measured = await measure(redis, values.quick === true ? QUICK : FULL);
    const text = values.json === true ? JSON.stringify(reportOf(measured)) : table(measured);
    process.stdout.write(`${text}\n`);
  } finally {
    await redis.stop();
  }
}

try {
  await main();
} catch (error) {
  const isUsage =
    error instanceof TypeError &&
    'code' in error &&
    String(error.code).startsWith('ERR_PARSE_ARGS');
  const known = isUsage || error instanceof TurnkeeperError;
  process.stderr.write(
    `${known ? error.message : (error as Error).stack}\n${isUsage ? `\n${USAGE}` : ''}`,
  );
  process.exitCode = isUsage ? 2 : 1;
}
