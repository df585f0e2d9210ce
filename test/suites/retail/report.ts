import type { RunResult, Verdict } from './run.ts';

/** A run in four lines, and whether everything was as it should be. */
export function describeRun(result: RunResult): { text: string; ok: boolean } {
  const { tasks, strangers, kills, resumed, unknown, parked, endedByThemselves, seconds } = result;
  const lines = [
    `${good(tasks)} of ${tasks.length} tasks: end state, effects once, texts in the reply`,
    `${good(strangers)} of ${strangers.length} tasks of somebody else: refused, nothing changed`,
    `${kills} workers killed, ${resumed} turns taken over by another one`,
    `${unknown} answers of writes lost, ${parked} turns waited; ${seconds.toFixed(0)} s`,
    ...endedByThemselves.map((how) => `a worker ended by itself: ${how}`),
  ];
  const bad = [...tasks, ...strangers].some(({ complaints }) => complaints.length > 0);
  return { text: lines.join('\n'), ok: !bad && endedByThemselves.length === 0 };
}

function good(verdicts: readonly Verdict[]): number {
  return verdicts.filter(({ complaints }) => complaints.length === 0).length;
}
