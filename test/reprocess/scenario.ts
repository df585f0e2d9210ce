import {
  addCase,
  noTotals,
  type CaseReport,
  type ReportTotals,
} from '../../src/producers/batch-report.ts';
import type { PlanSummary } from '../../src/producers/batch-summary.ts';
import { Stage } from './stage.ts';

export type ScenarioOptions = {
  redisUrl: string;
  prefix: string;
  keys: 'on' | 'off';
  /** Turns that escalate, and those of them that have refunded by then. */
  cases: number;
  refunded: number;
  /** Of those that have not: customers that write once more while their case waits to run. */
  lives: number;
  /** At least one, spread over the second batch. */
  kills: number;
  onProgress?: (line: string) => void;
};

export type Played = {
  /** What the first plan said, before anything ran. */
  plan: PlanSummary;
  /** Aborted in the middle, then the rest: paused, resumed, workers killed, to its end. */
  aborted: ReportTotals;
  rest: ReportTotals;
  /** Cases of the two that ran. */
  ran: CaseReport[];
  /** By the books of the shop and of the desk: how often each order was paid back, and each customer written to in public. */
  refunds: ReadonlyMap<string, number>;
  replies: ReadonlyMap<string, number>;
  /** Orders the shop was asked to pay back while the batches ran. */
  asked: ReadonlySet<string>;
  kills: number;
};

const ACT = { by: 'ana', name: 'after the outage', reason: 'the shop is back' };
/** How long the cases would take if nothing came between them: somebody must be able to abort. Seconds. */
const LASTS = 8;

/** Reprocesses escalated turns under everything that goes wrong meanwhile, and reads the books of those concerned. */
export async function playReprocess(options: ScenarioOptions): Promise<Played> {
  const { redisUrl, prefix, keys, cases, refunded, lives, kills, onProgress = () => {} } = options;
  const stage = await Stage.open(redisUrl, prefix, keys);
  try {
    await stage.fleet.start(2);
    await stage.escalate(cases, refunded);
    onProgress(`${cases} turns have escalated, ${refunded} of them after a refund`);
    const { reprocess } = stage;
    const before = await stage.asked();
    const act = { ...ACT, rate: Math.ceil(cases / LASTS) };

    const first = await reprocess.plan({ outcome: 'escalated' });
    const plan = await reprocess.summary(first.id);
    await reprocess.move(first.id, 'run', act);
    await stage.until(
      'a quarter is over',
      async () => (await stage.over(first.id)).over >= cases / 4,
    );
    await reprocess.move(first.id, 'abort', act);
    await drained(stage, first.id);
    onProgress(`aborted after ${(await stage.over(first.id)).over}`);

    const second = await reprocess.plan({ outcome: 'escalated' });
    await reprocess.move(second.id, 'run', act);
    await stage.until(
      'some of the rest are over',
      async () => (await stage.over(second.id)).over >= 5,
    );
    await reprocess.move(second.id, 'pause', act);
    await drained(stage, second.id);
    // Some write while the batch stands still, the others while it runs.
    const live = liveNumbers(options);
    await stage.interrupt(live.filter((_, index) => index % 2 === 0));
    await reprocess.move(second.id, 'resume', act);
    for (let kill = 1; kill <= kills; kill += 1) {
      await stage.until('more of the rest is over', async () => {
        const { status, over } = await stage.over(second.id);
        return status !== 'running' || over >= (second.toRun * kill) / (kills + 1);
      });
      await stage.fleet.killOne();
      if (kill === Math.ceil(kills / 2)) {
        await stage.interrupt(live.filter((_, index) => index % 2 === 1));
      }
    }
    await stage.until(
      'the rest is done',
      async () => (await stage.over(second.id)).status === 'done',
    );
    onProgress(`done, with ${stage.fleet.kills} workers killed`);

    const [aborted, rest] = [await reportOf(stage, first.id), await reportOf(stage, second.id)];
    const ran = [...aborted.ran, ...rest.ran];
    // The first turn of each case, those of the batches, and those of the messages that came meanwhile.
    await stage.until(
      'all turns have ended',
      async () => (await stage.ended()) >= cases + ran.length + lives,
    );
    const texts = cases + ran.length + lives - rest.totals.states.skipped;
    await stage.until('all texts have gone out', async () => sumOf(await stage.replies()) >= texts);
    return {
      ...{ plan, aborted: aborted.totals, rest: rest.totals, kills: stage.fleet.kills },
      ran,
      refunds: await stage.refunds(),
      replies: await stage.replies(),
      asked: grown(before, await stage.asked()),
    };
  } finally {
    await stage.close();
  }
}

/** The customers that write once more, spread over those that have no refund yet. */
export function liveNumbers({
  cases,
  refunded,
  lives,
}: Pick<ScenarioOptions, 'cases' | 'refunded' | 'lives'>): number[] {
  const step = Math.floor((cases - refunded) / lives);
  return Array.from({ length: lives }, (_, index) => refunded + 1 + index * step);
}

/** What was under way has come to its end. */
function drained(stage: Stage, id: string): Promise<void> {
  return stage.until('what was under way is over', async () => {
    const { over, started } = await stage.over(id);
    return over >= started;
  });
}

async function reportOf(
  { reprocess }: Stage,
  id: string,
): Promise<{ totals: ReportTotals; ran: CaseReport[] }> {
  const batch = await reprocess.status(id);
  if (batch === undefined) throw new Error(`no batch ${id}`);
  const totals = noTotals();
  const ran: CaseReport[] = [];
  for await (const page of reprocess.report(batch)) {
    for (const one of page) {
      addCase(totals, one);
      if (one.state === 'ran') ran.push(one);
    }
  }
  return { totals, ran };
}

function sumOf(counts: ReadonlyMap<string, number>): number {
  return [...counts.values()].reduce((sum, count) => sum + count, 0);
}

function grown(before: ReadonlyMap<string, number>, now: ReadonlyMap<string, number>): Set<string> {
  return new Set([...now.keys()].filter((name) => now.get(name) !== before.get(name)));
}
