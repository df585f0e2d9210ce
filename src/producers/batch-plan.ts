import { createHash, randomUUID, type Hash } from 'node:crypto';
import {
  batchFilterSchema,
  InvalidInputError,
  type Batch,
  type BatchFilter,
} from '../contracts/index.ts';
import { allCalls, canonicalJson } from '../loop/index.ts';
import type { PlannedCase } from '../store/batches.ts';
import type { Batches, EndedTurn, Records, TurnRecord } from '../store/index.ts';
import { judge } from './batch-judge.ts';

const PAGE = 200;
/** How long a plan and what came of it are kept. Milliseconds. */
export const PLAN_KEPT_MS = 30 * 86_400_000;
const DEFAULT_RATE = 5;

export type PlanOptions = {
  records: Records;
  batches: Batches;
  filter: BatchFilter;
  /** Milliseconds since the epoch: turns that end later are not looked at. */
  now: number;
  /** Most cases that would run, so that the next plan goes on behind them; the oldest first. */
  cap?: number;
  /** Who plans it, what it is called, and why. */
  act?: { by?: string; name?: string; reason?: string };
  onProgress?: (looked: number) => void;
};

/**
 * Selects the turns a filter names and says of each what would happen: the selection is frozen and hashed, and nothing is
 * started. @throws InvalidInputError when the filter cannot be used
 */
export async function planBatch(options: PlanOptions): Promise<Batch> {
  const { records, batches, now, cap = Infinity, onProgress } = options;
  const filter = parseFilter(options.filter);
  const id = `b${randomUUID().replaceAll('-', '').slice(0, 16)}`;
  const sum = sumOf({ filter, plannedAt: now });
  let [cases, toRun, looked] = [0, 0, 0];
  const range = [filter.endedAfter ?? 0, filter.endedBefore ?? now, PAGE] as const;
  for await (const page of records.endedTurns(...range)) {
    looked += page.length;
    const planned = upTo(cap - toRun, await casesOf(page, filter, options));
    for (const one of planned) sum.update(canonicalJson(one));
    cases += planned.length;
    toRun += planned.filter(({ verdict }) => verdict === 'run').length;
    await batches.append(id, planned, PLAN_KEPT_MS);
    onProgress?.(looked);
    if (toRun >= cap) break;
  }
  const batch: Batch = {
    ...{ id, status: 'planned', filter, plannedAt: now },
    ...{ hash: sum.digest('hex'), cases, toRun },
    ...{ rate: DEFAULT_RATE, next: 0, started: 0 },
    ...options.act,
  };
  await batches.create(batch, PLAN_KEPT_MS);
  return batch;
}

/** The first cases, up to and with the one that makes `most` that would run. */
function upTo(most: number, cases: readonly PlannedCase[]): readonly PlannedCase[] {
  const toRun = cases.filter(({ verdict }) => verdict === 'run');
  const last = toRun[most - 1];
  return last === undefined ? cases : cases.slice(0, cases.indexOf(last) + 1);
}

/** The hash of a plan as it lies in the store now. */
export async function hashOfPlan(batches: Batches, batch: Batch): Promise<string> {
  const sum = sumOf(batch);
  for await (const page of batches.pages(batch.id, PAGE)) {
    for (const one of page) sum.update(canonicalJson(one));
  }
  return sum.digest('hex');
}

/** What a plan was made of comes first, then its cases in their order. */
function sumOf({ filter, plannedAt }: Pick<Batch, 'filter' | 'plannedAt'>): Hash {
  return createHash('sha256').update(canonicalJson({ filter, plannedAt }));
}

function parseFilter(filter: BatchFilter): BatchFilter {
  const parsed = batchFilterSchema.safeParse(filter, { reportInput: true });
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new InvalidInputError(
    issue?.path.join('.') ?? 'filter',
    issue?.input,
    issue?.message ?? '',
  );
}

async function casesOf(
  page: readonly EndedTurn[],
  filter: BatchFilter,
  options: PlanOptions,
): Promise<PlannedCase[]> {
  const judged = await Promise.all(
    page
      .filter((head) => matchesHead(head, filter))
      .map(async ({ turnId }) => {
        const turn = await options.records.turn(turnId);
        if (turn === undefined || !matchesTurn(turn, filter)) return [];
        return [await judge(turn, options)];
      }),
  );
  return judged.flat();
}

function matchesHead(head: EndedTurn, filter: BatchFilter): boolean {
  const { outcomes, reasons, sources, conversations } = filter;
  const source = head.conversationId.slice(0, head.conversationId.indexOf('/'));
  return (
    (outcomes ?? [head.outcome]).includes(head.outcome) &&
    (reasons ?? [head.reason]).includes(head.reason) &&
    (sources ?? [source]).includes(source) &&
    (conversations ?? [head.conversationId]).includes(head.conversationId)
  );
}

function matchesTurn({ state, events }: TurnRecord, filter: BatchFilter): boolean {
  const tools = allCalls(state).map(({ tool }) => tool);
  const models = events.flatMap((event) => (event.type === 'model_responded' ? [event.model] : []));
  const skills = state.skills.map(({ name }) => name);
  const meets = (wanted: readonly string[] | undefined, found: readonly string[]): boolean =>
    wanted === undefined || wanted.some((one) => found.includes(one));
  return meets(filter.tools, tools) && meets(filter.skills, skills) && meets(filter.models, models);
}
