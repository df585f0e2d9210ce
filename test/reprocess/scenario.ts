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
  /** How many orders were paid back how often, and customers written to how often: `{1: 2000}`. */
  refunds: Record<number, number>;
  replies: Record<number, number>;
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
    const act = { ...ACT, rate: Math.ceil(cases / LASTS) };

    const first = await reprocess.plan({ outcome: 'escalated' });
    const plan = await reprocess.summary(first.id);
    await reprocess.move(first.id, 'run', act);
    await stage.until(async () => (await stage.over(first.id)).over >= cases / 4);
    await reprocess.move(first.id, 'abort', act);
    await drained(stage, first.id);
    onProgress(`aborted after ${(await stage.over(first.id)).over}`);

    const second = await reprocess.plan({ outcome: 'escalated' });
    await reprocess.move(second.id, 'run', act);
    await stage.until(async () => (await stage.over(second.id)).over >= 5);
    await reprocess.move(second.id, 'pause', act);
    await drained(stage, second.id);
    // Some write while the batch stands still, the others while it runs.
    const early = Math.ceil(lives / 2);
    await stage.interrupt(cases, early);
    await reprocess.move(second.id, 'resume', act);
    for (let kill = 0; kill < kills; kill += 1) {
      const { over } = await stage.over(second.id);
      await stage.until(async () => {
        const now = await stage.over(second.id);
        return now.status !== 'running' || now.over > over;
      });
      await stage.fleet.killOne();
    }
    await stage.interrupt(cases - early, lives - early);
    await stage.until(async () => (await stage.over(second.id)).status === 'done');
    onProgress(`done, with ${stage.fleet.kills} workers killed`);

    const [aborted, rest] = [await reportOf(stage, first.id), await reportOf(stage, second.id)];
    const ran = [...aborted.ran, ...rest.ran];
    // The first turn of each case, those of the batches, and those of the messages that came meanwhile.
    await stage.until(async () => (await stage.ended()) >= cases + ran.length + lives);
    const texts = cases + ran.length + lives - rest.totals.states.skipped;
    await stage.until(async () => sumOf(await stage.replies()) >= texts);
    return {
      ...{ plan, aborted: aborted.totals, rest: rest.totals, kills: stage.fleet.kills },
      ran,
      refunds: histogram(await stage.refunds()),
      replies: histogram(await stage.replies()),
    };
  } finally {
    await stage.close();
  }
}

/** What was under way has come to its end. */
function drained(stage: Stage, id: string): Promise<void> {
  return stage.until(async () => {
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

function histogram(counts: ReadonlyMap<string, number>): Record<number, number> {
  const found: Record<number, number> = {};
  for (const count of counts.values()) found[count] = (found[count] ?? 0) + 1;
  return found;
}
