import type { Batch, BatchCase } from '../contracts/index.ts';
import { allCalls } from '../loop/index.ts';
import type { PlannedCase } from '../store/batches.ts';
import type { Batches, Records, TurnRecord } from '../store/index.ts';

export type ReportedEffect = BatchCase['open'][number];

/** What became of one case, beside what its plan had promised. */
export type CaseReport = {
  turnId: string;
  conversationId: string;
  /** `not_run`: the plan says why. `under_way`: it waits in its conversation, runs, or waits for a person. */
  state: 'ran' | 'skipped' | 'under_way' | 'not_started' | 'not_run';
  /** Why it was not run, or skipped at the last moment. */
  why: string | null;
  /** The same without what names the case. */
  group: string | null;
  before: { outcome: string; reason: string };
  after: { outcome: string; reason: string } | null;
  newTurnId: string | null;
  costMicros: number;
  durationMs: number;
  /** Done before the plan, so that it would not happen again. */
  onRecord: ReportedEffect[];
  /** Of those, what was attempted again all the same. Must be empty. */
  repeated: ReportedEffect[];
  /** Would be new, and has happened; or has not. */
  happened: ReportedEffect[];
  notHappened: ReportedEffect[];
  /** Has happened, or may have, and was not wanted before: the case had not got so far. */
  unforeseen: ReportedEffect[];
};

type Sources = { batches: Batches; records: Records };

/** Compares a plan with what is on record now, case by case, a page at a time. */
export async function* reportCases(
  batch: Batch,
  sources: Sources,
  pageSize: number,
): AsyncGenerator<CaseReport[]> {
  for await (const page of sources.batches.pages(batch.id, pageSize)) {
    yield await Promise.all(page.map((one) => reportOf(batch.id, one, sources)));
  }
}

async function reportOf(
  batchId: string,
  one: PlannedCase,
  { batches, records }: Sources,
): Promise<CaseReport> {
  const { turnId, conversationId, before } = one;
  const state =
    one.verdict === 'run' ? await batches.state(batchId, conversationId, turnId) : undefined;
  const base = {
    ...{ turnId, conversationId, before, after: null, newTurnId: null },
    ...{ costMicros: 0, durationMs: 0, repeated: [], happened: [], unforeseen: [] },
    ...{ why: null, group: null },
    onRecord: one.done.map(short),
    notHappened: one.open,
  };
  if (one.verdict !== 'run') {
    const { why = null, group = why } = one;
    return { ...base, state: 'not_run', why, group };
  }
  if (state === undefined) return { ...base, state: 'not_started' };
  if (state === 'queued') return { ...base, state: 'under_way' };
  if ('skipped' in state) {
    return { ...base, state: 'skipped', why: state.skipped, group: state.skipped };
  }
  const turn = await records.turn(state.as);
  const effects = await effectsOf(one, state.as, turn, records);
  return {
    ...base,
    ...{ state: 'ran', newTurnId: state.as },
    after: { outcome: state.outcome, reason: state.reason },
    costMicros: turn?.state.spent.costMicros ?? 0,
    durationMs: turn === undefined ? 0 : (turn.endedAt ?? turn.startedAt) - turn.startedAt,
    ...effects,
  };
}

async function effectsOf(
  { done, open }: PlannedCase,
  newTurnId: string,
  turn: TurnRecord | undefined,
  records: Records,
): Promise<Pick<CaseReport, 'repeated' | 'happened' | 'notHappened' | 'unforeseen'>> {
  const attempts = new Map(done.map((effect) => [effect.operation, effect.attempts]));
  const wanted = new Set(open.map(({ operation }) => operation));
  const called =
    turn === undefined ? [] : allCalls(turn.state).flatMap(({ effect }) => effect ?? []);
  const operations = new Set([
    ...attempts.keys(),
    ...wanted,
    ...called.map((one) => one.operation),
  ]);
  const found = await Promise.all([...operations].map((one) => records.operation(one)));
  const rows = found.filter((row) => row !== undefined);
  const repeated = rows.filter((row) => row.attempts > (attempts.get(row.operation) ?? Infinity));
  // Also one whose answer never came: it may have happened.
  const fresh = rows.filter(
    (row) =>
      row.turnId === newTurnId &&
      !attempts.has(row.operation) &&
      !['rejected', 'not_landed'].includes(row.status),
  );
  const happened = new Set(fresh.map(({ operation }) => operation));
  return {
    repeated: repeated.map(short),
    happened: fresh.filter(({ operation }) => wanted.has(operation)).map(short),
    notHappened: open.filter(({ operation }) => !happened.has(operation)),
    unforeseen: fresh.filter(({ operation }) => !wanted.has(operation)).map(short),
  };
}

function short({ operation, tool, resource, status }: ReportedEffect): ReportedEffect {
  return { operation, tool, resource, status };
}

/** The report in numbers. The states add up to the cases, the effects to what the cases list. */
export type ReportTotals = {
  cases: number;
  states: Record<CaseReport['state'], number>;
  /** Cases that ran, by how they had ended before and how they ended now. */
  changes: { before: string; after: string; cases: number; costMicros: number }[];
  /** Why cases did not run, or were skipped: groups. */
  whys: Record<string, number>;
  costMicros: number;
  effects: Record<EffectList, number>;
};

const EFFECT_LISTS = ['onRecord', 'repeated', 'happened', 'notHappened', 'unforeseen'] as const;
type EffectList = (typeof EFFECT_LISTS)[number];

export function noTotals(): ReportTotals {
  return {
    ...{ cases: 0, changes: [], whys: {}, costMicros: 0 },
    states: { ran: 0, skipped: 0, under_way: 0, not_started: 0, not_run: 0 },
    effects: { onRecord: 0, repeated: 0, happened: 0, notHappened: 0, unforeseen: 0 },
  };
}

export function addCase(totals: ReportTotals, one: CaseReport): void {
  totals.cases += 1;
  totals.states[one.state] += 1;
  totals.costMicros += one.costMicros;
  // What a case that is not run has on record was no promise of this batch.
  if (one.state !== 'not_run') {
    for (const list of EFFECT_LISTS) totals.effects[list] += one[list].length;
  }
  if (one.group !== null) totals.whys[one.group] = (totals.whys[one.group] ?? 0) + 1;
  if (one.after === null) return;
  const [before, after] = [one.before, one.after].map((end) => `${end.outcome}/${end.reason}`);
  const known = totals.changes.find((change) => change.before === before && change.after === after);
  if (known === undefined) {
    const change = { before: before ?? '', after: after ?? '', cases: 1 };
    totals.changes.push({ ...change, costMicros: one.costMicros });
  } else {
    known.cases += 1;
    known.costMicros += one.costMicros;
  }
}

/** Nothing is left for somebody to look at: all that was to run has completed, and nothing happened twice. */
export function isClean({ states, changes, effects }: ReportTotals): boolean {
  const { skipped, under_way: underWay, not_started: notStarted } = states;
  return (
    skipped + underWay + notStarted + effects.repeated === 0 &&
    changes.every(({ after }) => after.startsWith('completed/'))
  );
}
