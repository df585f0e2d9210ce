import type { Batch, BatchFilter } from '../contracts/index.ts';
import type { Batches, Records } from '../store/index.ts';
import { planBatch } from './batch-plan.ts';
import type { BatchAnswer, BatchControl } from './batch-run.ts';

/** A batch as it is shown: how it was planned, how far it is, and how its cases came out, by `outcome/reason`. */
export type BatchView = Batch & {
  /** The only source it touches; null for all of them. */
  source: string | null;
  counts: Readonly<Record<string, number>>;
};

export type ReprocessFilter = {
  outcome?: string | undefined;
  reason?: string | undefined;
  tool?: string | undefined;
  source?: string | undefined;
  skill?: string | undefined;
  model?: string | undefined;
  conversation?: string | undefined;
  /** Ended at or after, and before. Milliseconds since the epoch. */
  from?: number | undefined;
  to?: number | undefined;
  /** Cases at most. */
  limit?: number | undefined;
};

/** Batch reprocessing as people meet it: a frozen plan first, then what is done with it. */
export class Reprocess {
  readonly #batches: Batches;
  readonly #records: Records;
  readonly #control: BatchControl;
  readonly #now: () => number;

  constructor(parts: {
    batches: Batches;
    records: Records;
    control: BatchControl;
    now: () => number;
  }) {
    this.#batches = parts.batches;
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
      ...{ records: this.#records, batches: this.#batches, now: this.#now(), act },
      filter: filterOf(filter),
      ...(limit === undefined ? {} : { cap: limit }),
      ...(onProgress === undefined ? {} : { onProgress }),
    });
    return this.#view(batch);
  }

  async status(id: string): Promise<BatchView | undefined> {
    const batch = await this.#batches.get(id);
    return batch === undefined ? undefined : this.#view(batch);
  }

  async move(
    id: string,
    move: 'run' | 'pause' | 'resume' | 'abort',
    { by, reason, rate, stopIf }: { by: string; reason: string; rate?: number; stopIf?: number },
  ): Promise<BatchAnswer> {
    switch (move) {
      case 'run': {
        const { name = id } = (await this.#batches.get(id)) ?? {};
        return this.#control.start(id, {
          ...{ by, name, reason },
          ...(rate === undefined ? {} : { rate }),
          ...(stopIf === undefined ? {} : { stopIf }),
        });
      }
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
    const counts = await this.#batches.counts(batch.id);
    return { ...batch, source: others.length === 0 ? (source ?? null) : null, counts };
  }
}

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
      Object.entries(lists).flatMap(([name, one]) => (one === undefined ? [] : [[name, [one]]])),
    ),
    ...(from === undefined ? {} : { endedAfter: from }),
    ...(to === undefined ? {} : { endedBefore: to }),
  };
}
