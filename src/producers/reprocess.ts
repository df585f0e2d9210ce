import type { Batch, BatchFilter } from '../contracts/index.ts';
import type { Batches, Records } from '../store/index.ts';
import { planBatch } from './batch-plan.ts';
import { reportCases, type CaseReport } from './batch-report.ts';
import { tally, type BatchAnswer, type BatchControl } from './batch-run.ts';
import { summarise, type PlanSummary } from './batch-summary.ts';

/** A batch as it is shown: how it was planned, how far it is, and how its cases came out, by `outcome/reason`. */
export type BatchView = Batch & {
  /** The only source it touches; null for all of them. */
  source: string | null;
  counts: Readonly<Record<string, number>>;
  /** Cases that came out, those skipped at the last moment included. */
  over: number;
  /** Started cases that wait for a person. */
  waiting: number;
};

type Choice = string | readonly string[] | undefined;

export type ReprocessFilter = {
  outcome?: Choice;
  reason?: Choice;
  tool?: Choice;
  source?: Choice;
  skill?: Choice;
  model?: Choice;
  conversation?: Choice;
  /** Ended at or after, and before. Milliseconds since the epoch. */
  from?: number | undefined;
  to?: number | undefined;
  /** Cases that would run, at most. */
  limit?: number | undefined;
};

export type ReprocessMove = {
  by: string;
  reason: string;
  /** Default: the one it was planned under. */
  name?: string;
  rate?: number;
  stopIf?: number;
};

/** Batch reprocessing as people meet it: a frozen plan first, then what is done with it. */
export class Reprocess {
  readonly batches: Batches;
  readonly #records: Records;
  readonly #control: BatchControl;
  readonly #now: () => number;

  constructor(parts: {
    batches: Batches;
    records: Records;
    control: BatchControl;
    now: () => number;
  }) {
    this.batches = parts.batches;
    this.#records = parts.records;
    this.#control = parts.control;
    this.#now = parts.now;
  }

  /** Selects and judges; starts nothing. @throws InvalidInputError */
  async plan(
    { limit, ...filter }: ReprocessFilter,
    act: { by?: string; name?: string; reason?: string } = {},
    onProgress?: (looked: number) => void,
  ): Promise<BatchView> {
    const batch = await planBatch({
      ...{ records: this.#records, batches: this.batches, now: this.#now(), act },
      filter: filterOf(filter),
      ...(limit === undefined ? {} : { cap: limit }),
      ...(onProgress === undefined ? {} : { onProgress }),
    });
    return this.#view(batch);
  }

  async status(id: string): Promise<BatchView | undefined> {
    const batch = await this.batches.get(id);
    return batch === undefined ? undefined : this.#view(batch);
  }

  /** What a plan says in all. */
  async summary(id: string): Promise<PlanSummary> {
    return summarise(this.batches.pages(id, PAGE));
  }

  /** What became of each case, in the order of the plan, page by page. */
  report(batch: Batch): AsyncGenerator<CaseReport[]> {
    return reportCases(batch, { batches: this.batches, records: this.#records }, PAGE);
  }

  async move(
    id: string,
    move: 'run' | 'pause' | 'resume' | 'abort',
    { by, reason, name, rate, stopIf }: ReprocessMove,
  ): Promise<BatchAnswer> {
    switch (move) {
      case 'run':
        return this.#control.start(id, {
          ...{ by, reason, name: name ?? (await this.batches.get(id))?.name ?? id },
          ...(rate === undefined ? {} : { rate }),
          ...(stopIf === undefined ? {} : { stopIf }),
        });
      case 'pause':
        return this.#control.pause(id);
      case 'resume':
        return this.#control.resume(id);
      case 'abort':
        return this.#control.abort(id);
      default:
        return move satisfies never;
    }
  }

  async #view(batch: Batch): Promise<BatchView> {
    const [source, ...others] = batch.filter.sources ?? [];
    const counts = await this.batches.counts(batch.id);
    const { over } = tally(counts);
    const waiting = over < batch.started ? await this.batches.waiting(batch.id) : 0;
    const only = others.length === 0 ? (source ?? null) : null;
    return { ...batch, source: only, counts, over, waiting };
  }
}

const PAGE = 200;

function filterOf(filter: Omit<ReprocessFilter, 'limit'>): BatchFilter {
  const { outcome, reason, tool, source, skill, model, conversation, from, to } = filter;
  const lists = {
    outcomes: outcome,
    reasons: reason,
    tools: tool,
    sources: source,
    skills: skill,
    models: model,
    conversations: conversation,
  };
  return {
    ...Object.fromEntries(
      Object.entries(lists).flatMap(([name, chosen]) =>
        chosen === undefined ? [] : [[name, typeof chosen === 'string' ? [chosen] : [...chosen]]],
      ),
    ),
    ...(from === undefined ? {} : { endedAfter: from }),
    ...(to === undefined ? {} : { endedBefore: to }),
  };
}
