import { z } from 'zod';

/**
 * What can go wrong with one call.
 * `*_before`: nothing was done. `*_after`: it was done, the caller is not told. `ack_only`: a success is answered, nothing was done.
 */
export const FAULT_KINDS = [
  'latency',
  'fail_before',
  'fail_after',
  'drop_before',
  'drop_after',
  'hang_before',
  'hang_after',
  'pause_after',
  'ack_only',
] as const;

export type FaultKind = (typeof FAULT_KINDS)[number];

/** The fields of a scripted fault that do not depend on the service; each service adds `operation` and its own subject. */
export const faultFields = {
  kind: z.enum(FAULT_KINDS),
  /** The first matching call that is hit, counted from 1 since the script was installed. */
  nth: z.int().min(1).default(1),
  /** How many matching calls in a row are hit. */
  times: z.int().min(1).default(1),
  /** Duration of `latency` and `pause_after`. */
  ms: z.int().min(0).default(100),
  /** Status that `fail_before` and `fail_after` answer with; the same one, so that a caller cannot tell them apart. */
  status: z.int().min(500).max(599).default(503),
};

export const RandomFaults = z.strictObject({
  seed: z.int(),
  /** Chance per call, by kind; the rest of the calls is left alone. */
  probability: z.partialRecord(z.enum(FAULT_KINDS), z.number().min(0).max(1)),
  ms: z.int().min(0).default(100),
  status: z.int().min(500).max(599).default(503),
});
export type RandomFaults = z.infer<typeof RandomFaults>;

/** A fault that is about to happen. */
export interface Fault {
  kind: FaultKind;
  ms: number;
  status: number;
}

export interface ScriptedFault extends Fault {
  operation: string;
  /** The order or conversation it is meant for; `undefined` matches every one. */
  subject: string | undefined;
  nth: number;
  times: number;
}

/** Decides, call by call, which fault (if any) happens. Lives in memory: a restarted service starts without faults. */
export class FaultScript {
  #scripted: { fault: ScriptedFault; seen: number }[] = [];
  #random: { profile: RandomFaults; draw: () => number } | undefined;

  /** Replaces everything that was installed before; counting starts again. */
  install(faults: ScriptedFault[], random: RandomFaults | undefined): void {
    this.#scripted = faults.map((fault) => ({ fault, seen: 0 }));
    this.#random = random && { profile: random, draw: seededRandom(random.seed) };
  }

  /** Counts the call against every entry of the script; the first entry that fires wins. */
  next(operation: string, subject: string | null): Fault | undefined {
    let fired: Fault | undefined;
    for (const entry of this.#scripted) {
      const { fault } = entry;
      if (fault.operation !== operation) continue;
      if (fault.subject !== undefined && fault.subject !== subject) continue;
      entry.seen += 1;
      const hit = entry.seen >= fault.nth && entry.seen < fault.nth + fault.times;
      if (hit) fired ??= fault;
    }
    return fired ?? this.#drawn();
  }

  state(): unknown {
    return {
      scripted: this.#scripted.map(({ fault, seen }) => ({ ...fault, seen })),
      random: this.#random?.profile ?? null,
    };
  }

  #drawn(): Fault | undefined {
    if (this.#random === undefined) return undefined;
    const { profile, draw } = this.#random;
    let rest = draw();
    for (const kind of FAULT_KINDS) {
      rest -= profile.probability[kind] ?? 0;
      if (rest < 0) return { kind, ms: profile.ms, status: profile.status };
    }
    return undefined;
  }
}

/** mulberry32: the same seed gives the same sequence in [0, 1) on every machine. */
function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
