import type { Ticket } from '../../examples/technova/agent/fixtures.ts';
import type { World } from '../../examples/technova/order-service/world.ts';
import type { Output } from '../../src/cli/output.ts';
import { traceOf, type Trace } from '../../src/cli/trace.ts';
import { count, iso } from '../../src/cli/wording.ts';
import { answersOf, type Answer } from './answers.ts';
import { compare, contradictions, type Comparison } from './compare.ts';
import type { Household } from './household.ts';
import type { DemoOptions } from './options.ts';
import { Play } from './play.ts';
import { pullThePlug, recoveryFrom, type Recovery } from './plug.ts';
import { step, type Progress } from './progress.ts';
import {
  reportAnswers,
  reportChecks,
  reportComparison,
  reportEnd,
  reportOutcomes,
  reportRecovery,
  reportTrace,
  reportWaiting,
} from './report.ts';
import type { Scenario } from './scenario.ts';
import { setStage, type Checked, type Stage } from './stage.ts';
import { judge, type Difference, type TicketResult, type Verdict } from './verdict.ts';

/** The JSON of the demo. Every value is read from the store and from the services' logs. */
export type DemoResult = {
  tickets: TicketResult[];
  comparison: Comparison;
  /** Only with --kill-worker. */
  kill?: Omit<Recovery, 'appliedAt' | 'killedAt'> & { appliedAt: string; killedAt: string };
  /** Of the first turn of the scenario. */
  trace: Trace | null;
  /** Questions for which documents were searched. */
  answers: Answer[];
  checked: Checked[];
  totals: Totals;
  differences: Difference[];
  ok: boolean;
};

type Totals = {
  tickets: number;
  turns: number;
  completed: number;
  escalated: number;
  awaitingApproval: number;
  asExpected: number;
  replies: number;
  /** By the order service's log. */
  effects: { cancel: number; refund: number };
  durationMs: number;
};

export type Cast = {
  tickets: readonly Ticket[];
  world: World;
  scenario: Scenario;
  model: DemoOptions['model'];
  killWorker: boolean;
  /** Everything stays up: commands may name this Redis. */
  keep: boolean;
  /** Milliseconds since the epoch. */
  startedAt: number;
};

/** The demo from the first process to the last line of the report. Whoever gave the household ends it. */
export async function performDemo(
  house: Household,
  out: Output,
  progress: Progress,
  cast: Cast,
): Promise<DemoResult> {
  const { tickets, world, scenario } = cast;
  const starting = step(
    'Starting Redis, the order service, the ticket desk and two workers',
    () => setStage(house, world, cast.model),
    () => 'Everything is up and answers',
  );
  await progress([starting]);
  const stage = await starting.result;
  if (out.isText) reportChecks(out, stage.checked);

  const { comparison, recovery } = await played(house, stage, progress, cast);
  const verdict = await judge(stage, tickets);
  const differences = [
    ...stage.checked
      .filter(({ ok }) => !ok)
      .map(({ part, value }) => ({ about: part, expected: 'as the demo set it up', got: value })),
    ...verdict.differences,
    ...contradictions(comparison).map((one) => ({ about: 'comparison', ...one })),
    ...(recovery === undefined ? [] : doubts(recovery)),
  ];
  const [told] = verdict.storiesOf(scenario.ticket);
  const result: DemoResult = {
    tickets: verdict.tickets,
    comparison,
    ...(recovery === undefined
      ? {}
      : {
          kill: {
            ...recovery,
            appliedAt: iso(recovery.appliedAt),
            killedAt: iso(recovery.killedAt),
          },
        }),
    trace: told === undefined ? null : traceOf(told),
    answers: answersOf(tickets.flatMap((one) => verdict.storiesOf(one))),
    checked: stage.checked,
    totals: totalsOf(verdict, Date.now() - cast.startedAt),
    differences,
    ok: differences.length === 0,
  };
  if (out.isText) report(out, house, stage, cast, { result, verdict, recovery });
  return result;
}

/** Plays the tickets and, beside them, the comparison; then pulls the plug if it was asked for. */
async function played(house: Household, stage: Stage, progress: Progress, cast: Cast) {
  const { tickets, world, scenario, killWorker } = cast;
  const play = new Play(stage, tickets);
  const playing = step(
    `Playing ${count(tickets.length, 'ticket')}`,
    async (say) => {
      await Promise.all([
        play.send(),
        play.untilAtRest(say, killWorker ? scenario.ticket.id : undefined),
      ]);
    },
    () => `Played ${count(tickets.length, 'ticket')}`,
  );
  const comparing = step(
    'Naive and safe side by side, each on a fresh shop',
    () => compare(house, world, scenario, stage.model),
    () => 'Compared naive and safe',
  );
  await progress([playing, comparing]);
  const comparison = await comparing.result;
  if (!killWorker) return { comparison, recovery: undefined };

  const pulling = step(
    'Killing the worker that pays, before it hears the answer',
    async (say) => {
      const kill = await pullThePlug(house, stage, scenario, say);
      await play.untilAtRest(say);
      return recoveryFrom(kill, stage, scenario);
    },
    ({ resumedAfterMs }) =>
      `Killed a worker; ${resumedAfterMs === null ? 'nobody' : 'another'} took over`,
  );
  await progress([pulling]);
  return { comparison, recovery: await pulling.result };
}

function doubts({ effectsApplied, resumedAfterMs, answerSeen, pid }: Recovery): Difference[] {
  const about = `the kill of the worker with pid ${pid}`;
  const found = [
    {
      holds: effectsApplied === 1,
      expected: 'the refund was applied once',
      got: `applied ${count(effectsApplied, 'time')}`,
    },
    { holds: resumedAfterMs !== null, expected: 'another worker took over', got: 'nobody did' },
    {
      holds: !answerSeen,
      expected: 'the killed worker heard no answer',
      got: 'the answer is in the record',
    },
  ];
  return found.flatMap(({ holds, expected, got }) => (holds ? [] : [{ about, expected, got }]));
}

function totalsOf({ tickets, effectsInLog }: Verdict, durationMs: number): Totals {
  const turns = tickets.flatMap(({ followUps, ...first }) => [first, ...followUps]);
  const having = (outcome: string): number =>
    turns.filter((turn) => turn.outcome === outcome).length;
  return {
    tickets: tickets.length,
    turns: turns.length,
    completed: having('completed'),
    escalated: having('escalated'),
    awaitingApproval: turns.filter(({ phase }) => phase === 'awaiting_approval').length,
    asExpected: tickets.filter(({ asExpected }) => asExpected).length,
    replies: turns.reduce((sum, { replies }) => sum + replies, 0),
    effects: effectsInLog,
    durationMs,
  };
}

type Ended = { result: DemoResult; verdict: Verdict; recovery: Recovery | undefined };

function report(
  out: Output,
  house: Household,
  stage: Stage,
  cast: Cast,
  { result, verdict, recovery }: Ended,
): void {
  const { tickets, world, scenario } = cast;
  const { ticket, orderId } = scenario;
  const currency = world.orders.find(({ id }) => id === orderId)?.currency ?? '';
  reportOutcomes(out, result.tickets);
  const [told] = verdict.storiesOf(ticket);
  if (told !== undefined) reportTrace(out, told, orderId);
  if (recovery !== undefined) reportRecovery(out, recovery, orderId);
  reportComparison(out, result.comparison, orderId, currency);
  reportAnswers(out, result.answers);
  for (const one of tickets) {
    const parked = verdict.storiesOf(one).find(({ turn }) => turn.park?.kind === 'approval');
    if (parked !== undefined)
      reportWaiting(out, one.id, parked, cast.keep ? stage.redis.url : undefined);
  }
  const tookMs = Date.now() - cast.startedAt;
  reportEnd(out, {
    differences: result.differences,
    tickets: tickets.length,
    tookMs,
    logs: house.logs,
  });
}
