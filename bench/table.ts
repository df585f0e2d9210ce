import type { Throughput } from './measure/throughput.ts';
import { reportOf, type Measured } from './report.ts';
import { rounded } from './rig/statistics.ts';
import { LEAST_RATIO, missed, percent, shareAtBacklog } from './targets.ts';

/** The figures for people, with what they are made of and which of them are not where they should be. */
export function table(measured: Measured): string {
  const { throughput, roundTrips, parkedMemory } = measured;
  const report = reportOf(measured);
  const { latency, backlog, recovery } = report;
  const misses = missed(report);
  return [
    row('', 'per second', 'ratio to raw', 'at least', 'CPU here', 'CPU Redis', 'ratio by CPU'),
    ...throughput.map((line) => throughputRow(line, busierSide(throughput[0]))),
    '',
    `Latency at 200 turns/s       p50 ${latency.p50Ms} ms   p99 ${latency.p99Ms} ms`,
    `  one PING and one SET       p50 ${latency.baselineP50Ms} ms   p99 ${latency.baselineP99Ms} ms`,
    `Commands per read turn       ${rounded(roundTrips.busy.perTurn, 2)} under load (at most 8)`,
    ...shares(roundTrips.busy.byCommand, 2),
    `  one at a time              ${rounded(roundTrips.idle.perTurn, 2)}: BullMQ looks for work again for its other slots`,
    `Bytes per parked turn        ${parkedMemory.bytesPerTurn} (at most 6144)`,
    ...shares(parkedMemory.byKind, 0),
    `Turns/s draining a backlog   ${Object.entries(backlog)
      .map(([size, rate]) => `${rate} at ${size}`)
      .join('   ')}`,
    `  largest to smallest        ${percent(shareAtBacklog(backlog))} (at least 80 %)`,
    `Recovery after SIGKILL       p50 ${recovery.p50Ms} ms   p99 ${recovery.p99Ms} ms   max ${recovery.maxMs} ms (p99 at most 5000)`,
    '',
    ...(misses.length === 0
      ? ['Every figure is where it should be.']
      : ['Missed:', ...misses.map((one) => `  ${one}`)]),
  ].join('\n');
}

function throughputRow(line: Throughput, rawMicros: number): string {
  const { name, perSecond, ratioToRaw, nodeMicros, redisMicros } = line;
  const least = Object.entries(LEAST_RATIO).find(([one]) => one === name)?.[1];
  const ratio = name === 'raw-noop' ? '1' : ratioToRaw.toFixed(3);
  const cpu = [nodeMicros, redisMicros].map((micros) => `${Math.round(micros)} µs`);
  const byCpu = (rawMicros / busierSide(line)).toFixed(3);
  return row(name, Math.round(perSecond).toString(), ratio, least?.toFixed(2) ?? '', ...cpu, byCpu);
}

/**
 * Microseconds of the side that works longer, which is what limits the rate when each has a core of its own. On a machine
 * that others use as well, the ratio by this is steadier than the one by the clock.
 */
function busierSide(line: Throughput | undefined): number {
  return Math.max(line?.nodeMicros ?? NaN, line?.redisMicros ?? NaN);
}

function row(name: string, ...cells: string[]): string {
  return [name.padEnd(20), ...cells.map((cell) => cell.padStart(14))].join('').trimEnd();
}

function shares(parts: Readonly<Record<string, number>>, digits: number): string[] {
  return Object.entries(parts)
    .filter(([, value]) => rounded(value, digits) !== 0)
    .toSorted((a, b) => b[1] - a[1])
    .map(([name, value]) => `  ${name.padEnd(32)} ${rounded(value, digits)}`);
}
