import { InvalidInputError } from '../contracts/index.ts';
import { Sweeps } from '../store/sweeps.ts';
import { DEFAULT_RETENTION } from '../store/retention.ts';
import {
  FIND_MISSED,
  type FindMissed,
  type Mapped,
  type Missed,
  type Source,
  type SourceApi,
} from './ingress/index.ts';
import { takeIn, type Intake } from './take-in.ts';

export type SweepOptions = Intake & {
  /** How long the ids of messages are remembered; what is older is left alone. Milliseconds, default: that of the store. */
  claimsMs?: number;
  /** How far before the end of the last sweep the next one begins: clocks differ, and lists lag. Milliseconds, default 300,000. */
  overlapMs?: number;
};

export type Swept = {
  source: string;
  /** What was looked at: written from then on. Milliseconds since the epoch. */
  since: number;
  conversations: number;
  /** Messages of customers that had never arrived. */
  found: number;
  /** Public messages of the staff that had not. */
  takeovers: number;
  /** Messages that had arrived. */
  known: number;
  /** What can never be taken in. */
  bad: string[];
};

const OVERLAP_MS = 300_000;
/** Some systems give their times in whole seconds. */
const STAMP_MS = 1_000;
/** Of ids that are about to be forgotten we do not rely on being known. */
const CLOSE_TO_FORGOTTEN_MS = 3_600_000;

/** What it takes to look through a source. */
function readerOf({ type, api }: Source): { api: SourceApi; find: FindMissed } | undefined {
  const find = FIND_MISSED[type];
  return find === undefined || api === undefined ? undefined : { api, find };
}

/** Looks through a source for messages we never got, and takes them in as if they had come. */
export class Sweep {
  readonly #options: SweepOptions;
  readonly #sweeps: Sweeps;

  constructor(options: SweepOptions) {
    this.#options = options;
    this.#sweeps = new Sweeps(options.store);
  }

  /** The sources that can be looked through. */
  static able(sources: readonly Source[]): Source[] {
    return sources.filter((source) => readerOf(source) !== undefined);
  }

  /** The sources whose deliveries come once and that nobody can look through: what they lose is lost. */
  static blind(sources: readonly Source[]): Source[] {
    return sources.filter(
      (source) => source.adapter.redelivery.by !== 'source' && readerOf(source) === undefined,
    );
  }

  /**
   * One look. Without `since` it goes on where the last one began; the first one looks at the overlap only. When it throws
   * or is called off, the next one looks at the same again, and what was taken in is known then.
   *
   * @throws InvalidInputError when the source cannot be looked through, SourceApiError when it does not answer
   */
  async run(
    source: Source,
    options: { since?: number; signal?: AbortSignal } = {},
  ): Promise<Swept> {
    const reader = readerOf(source);
    if (reader === undefined) throw unable(source);
    const { overlapMs = OVERLAP_MS, claimsMs = DEFAULT_RETENTION.claimsMs } = this.#options;
    const startedAt = this.#options.store.clock().now();
    const last = await this.#sweeps.since(source.name);
    const asked = options.since ?? (last ?? startedAt) - overlapMs;
    const since = Math.max(asked, startedAt - claimsMs + CLOSE_TO_FORGOTTEN_MS);
    const swept: Swept = {
      ...{ source: source.name, since, conversations: 0, found: 0 },
      ...{ takeovers: 0, known: 0, bad: [] },
    };
    for await (const missed of reader.find(reader.api, since)) {
      if (options.signal?.aborted === true) return swept;
      swept.conversations += 1;
      await this.#takeIn(
        source,
        missed.filter(({ at }) => at >= since - STAMP_MS),
        swept,
      );
    }
    // A look that began later than the last one ended leaves a gap before it.
    if (last === undefined || asked <= last) await this.#sweeps.reached(source.name, startedAt);
    return swept;
  }

  /** True for one process in so many milliseconds, so that several of them look once. */
  async isDue(source: Source, everyMs: number): Promise<boolean> {
    return this.#sweeps.turnOf(source.name, everyMs);
  }

  async #takeIn(source: Source, missed: readonly Missed[], swept: Swept): Promise<void> {
    const now = this.#options.store.clock().now();
    const read = await Promise.all(
      missed.map(async (one) => ({
        mapped: await source.adapter.map(deliveryOf(one, now), source),
        aliases: one.aliases ?? [],
      })),
    );
    const known = await this.#known(source, read);
    for (const { mapped, aliases } of read) {
      // What it meant when it came stands, whatever people have done since.
      if ([...saidIn(mapped).map(({ messageId }) => messageId), ...aliases].some(known)) {
        swept.known += 1;
        continue;
      }
      const taken = await takeIn(this.#options, source, mapped);
      swept.found += taken.accepted;
      swept.known += taken.known;
      swept.takeovers += taken.takeovers;
      swept.bad.push(...taken.bad);
    }
  }

  /** Asked once for all messages of a conversation: nearly all of them have come. */
  async #known(
    { name }: Source,
    read: readonly { mapped: Mapped; aliases: readonly string[] }[],
  ): Promise<(messageId: string) => boolean> {
    const said = read.flatMap(({ mapped }) => saidIn(mapped));
    const [first] = said;
    if (first === undefined) return () => false;
    const ids = [...said.map((one) => one.messageId), ...read.flatMap(({ aliases }) => aliases)];
    const known = await this.#sweeps.known(name, first.conversationId, ids);
    return (messageId) => known.has(messageId);
  }
}

/** Every message in it, whoever wrote it. All of one conversation. */
function saidIn({
  accept,
  takeovers,
  ignored,
}: Mapped): { conversationId: string; messageId: string }[] {
  return [...accept, ...takeovers, ...ignored.flatMap(({ said }) => said ?? [])];
}

function deliveryOf({ body, headers = {} }: Missed, now: number) {
  const rawBody = Buffer.from(JSON.stringify(body));
  return { method: 'POST', url: '', headers, query: {}, rawBody, receivedAt: now };
}

function unable({ name, type, api }: Source): InvalidInputError {
  const can = Object.keys(FIND_MISSED).join(', ');
  return api === undefined && FIND_MISSED[type] !== undefined
    ? new InvalidInputError(
        'source',
        name,
        'give it an `api` in the configuration: nothing can be read from it',
      )
    : new InvalidInputError(
        'source',
        name,
        `is a ${type}; what can be looked through is one of ${can}`,
      );
}
