import type { BenchRedis } from '../rig/redis.ts';
import type { Size } from '../rig/settings.ts';
import { median } from '../rig/statistics.ts';
import type { Work } from '../rig/workload.ts';
import { rawJobsPerSecond } from './raw.ts';
import { turnsPerSecond } from './turns.ts';
import type { Duties } from '../rig/pipeline.ts';

export const RESULT_NAMES = [
  'raw-noop',
  'raw-body',
  'read-10000x1',
  'read-1000x10',
  'read-10x1000',
  'write-1000x10',
  'park-200ms',
] as const;
export type ResultName = (typeof RESULT_NAMES)[number];
/** `+send`: with the deliveries sent by the same process; shown, not part of the results. */
export type LineName = ResultName | 'read-10000x1+send' | 'read-1000x10+send';

export type Throughput = {
  name: LineName;
  /** Median of the repeats. */
  perSecond: number;
  /** Median of the ratios to the raw no-op jobs run right before and right after. */
  ratioToRaw: number;
  /** CPU each one cost, in microseconds: of this process (API and worker) and of Redis' main thread. */
  nodeMicros: number;
  redisMicros: number;
};

type Sample = Omit<Throughput, 'name'>;
type Run = { name: LineName; count: number; run: (prefix: string) => Promise<number> };

/** Raw jobs and full turns, interleaved, each on an emptied database and beside raw no-op jobs of its own. */
export async function measureThroughput(
  redis: BenchRedis,
  size: Size,
  progress: (text: string) => void,
): Promise<Throughput[]> {
  const samples = new Map<LineName, Sample[]>();
  let started = 0;
  const once = async ({ name, count, run }: Run): Promise<Sample> => {
    await redis.empty();
    const node = process.cpuUsage();
    const server = await redis.cpuSeconds();
    started += 1;
    const perSecond = await run(`${name.replaceAll(/\W/g, '')}-${started}-`);
    const { user, system } = process.cpuUsage(node);
    const redisMicros = ((await redis.cpuSeconds()) - server) * 1e6;
    const each = { nodeMicros: (user + system) / count, redisMicros: redisMicros / count };
    return { perSecond, ratioToRaw: 1, ...each };
  };
  const keep = (name: LineName, sample: Sample): void => {
    samples.set(name, [...(samples.get(name) ?? []), sample]);
  };

  const [noop, ...others] = runs(redis.url, size);
  progress('warming up');
  const small = { ...size, jobs: 1_000, divisor: 20, parkingTurns: 100 };
  for (const run of runs(redis.url, small)) await once(run);
  for (let repeat = 1; repeat <= size.repeats; repeat += 1) {
    let before = await once(noop);
    keep(noop.name, before);
    for (const run of others) {
      progress(`repeat ${repeat} of ${size.repeats}: ${run.name}`);
      const sample = await once(run);
      const after = await once(noop);
      keep(noop.name, after);
      keep(run.name, {
        ...sample,
        ratioToRaw: sample.perSecond / ((before.perSecond + after.perSecond) / 2),
      });
      before = after;
    }
  }
  return [...samples].map(([name, all]) => ({
    name,
    perSecond: median(all.map((one) => one.perSecond)),
    ratioToRaw: median(all.map((one) => one.ratioToRaw)),
    nodeMicros: median(all.map((one) => one.nodeMicros)),
    redisMicros: median(all.map((one) => one.redisMicros)),
  }));
}

function runs(redisUrl: string, size: Size): [Run, ...Run[]] {
  const raw = (name: ResultName, body: 'noop' | 'three-calls'): Run => ({
    name,
    count: size.jobs,
    run: (prefix) => rawJobsPerSecond({ redisUrl, prefix, jobs: size.jobs, body }),
  });
  const turns = (
    name: LineName,
    work: Work,
    of: [number, number],
    duties: Duties = 'turns',
  ): Run => {
    const [conversations, messages] = of;
    const options = { redisUrl, work, conversations, messages, duties };
    return {
      name,
      count: conversations * messages,
      run: (prefix) => turnsPerSecond({ ...options, prefix }),
    };
  };
  const scaled = (turnCount: number): number => Math.max(10, Math.ceil(turnCount / size.divisor));
  return [
    raw('raw-noop', 'noop'),
    raw('raw-body', 'three-calls'),
    turns('read-10000x1', 'read', [scaled(10_000), 1]),
    turns('read-10000x1+send', 'read', [scaled(10_000), 1], 'all'),
    turns('read-1000x10', 'read', [scaled(1_000), 10]),
    turns('read-1000x10+send', 'read', [scaled(1_000), 10], 'all'),
    turns('read-10x1000', 'read', [10, scaled(1_000)]),
    turns('write-1000x10', 'write', [scaled(1_000), 10]),
    turns('park-200ms', 'park-200ms', [size.parkingTurns, 1]),
  ];
}
