import type { Latency } from './measure/latency.ts';
import type { ParkedMemory } from './measure/parked-memory.ts';
import type { Recovery } from './measure/recovery.ts';
import type { RoundTrips } from './measure/round-trips.ts';
import { RESULT_NAMES, type ResultName, type Throughput } from './measure/throughput.ts';
import { rounded } from './rig/statistics.ts';

export type Measured = {
  throughput: readonly Throughput[];
  latency: Latency;
  roundTrips: { busy: RoundTrips; idle: RoundTrips };
  parkedMemory: ParkedMemory;
  backlog: Readonly<Record<string, number>>;
  recovery: Recovery;
};

/** What `--json` prints. */
export type Report = {
  results: { name: ResultName; turnsPerSecond: number; ratioToRaw: number }[];
  latency: Latency;
  roundTripsPerReadTurn: number;
  bytesPerParkedTurn: number;
  backlog: Record<string, number>;
  recovery: Recovery;
};

export function reportOf(measured: Measured): Report {
  const { throughput, latency, roundTrips, parkedMemory, backlog, recovery } = measured;
  return {
    results: RESULT_NAMES.map((name) => {
      const line = throughput.find((one) => one.name === name);
      if (line === undefined) throw new RangeError(`${name} was not measured`);
      const { perSecond, ratioToRaw } = line;
      return { name, turnsPerSecond: rounded(perSecond, 0), ratioToRaw: rounded(ratioToRaw, 3) };
    }),
    latency: roundedAll(latency, 2),
    // What BullMQ looks for at the start, before there is work, is worth a few hundredths.
    roundTripsPerReadTurn: rounded(roundTrips.busy.perTurn, 1),
    bytesPerParkedTurn: parkedMemory.bytesPerTurn,
    backlog: roundedAll(backlog, 0),
    recovery: roundedAll(recovery, 0),
  };
}

function roundedAll<T extends Readonly<Record<string, number>>>(numbers: T, digits: number): T {
  const pairs = Object.entries(numbers).map(([name, value]) => [name, rounded(value, digits)]);
  return Object.fromEntries(pairs) as T;
}
