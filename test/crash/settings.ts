import type { Wish } from './load.ts';

/** How big a run is and how hard it is hit. Times in milliseconds. */
export type RunSettings = {
  seed: number;
  conversations: number;
  messages: number;
  wishes?: readonly Wish[];
  workers: number;
  /** Conversations a worker has at a time. */
  concurrency: number;
  /** Messages it answers before the next conversation comes. */
  messagesPerWakeUp: number;
  /** What a further message does to a turn that waits. */
  whileWaiting: 'buffer' | 'supersede';
  /** Whether the order service enforces idempotency keys; without them answers of its are not lost. */
  keys: 'on' | 'off';
  /** Chance that a message is handed over twice at once. */
  twice: number;
  /** Whether the hand-over pokes; without, only the reconciler wakes anybody. */
  wakes: boolean;
  /** Longest pause between two messages of a customer. */
  paceMs: number;
  /** How long a cancellation takes. Long enough that the first re-read finds it pending and the turn parks. */
  settleMs: readonly [number, number];
  /** How long a model takes on average. */
  modelMs: number;
  toolTimeoutMs: number;
  sendTimeoutMs: number;
  slackMs: number;
  reconcileEveryMs: number;
  /** How often somebody looks at what waits for an approval. */
  approveEveryMs: number;
  faults: FaultSettings | 'none';
  /** Whether the two services answer late, with errors, and not at all every now and then. */
  flakyServices: boolean;
  /** What a run must have gone through to count: an idle pass proves nothing. */
  floor: { faults: number; redisKills: number; hitsPerPhase: number };
  /** What is not answered after so long hangs. */
  timeLimitMs: number;
  /** So does what is left when nothing was answered for so long. */
  stillMs: number;
};

export type FaultSettings = {
  /** Between two faults, at least and at most. */
  everyMs: readonly [number, number];
  stopMs: readonly [number, number];
  blockMs: readonly [number, number];
  /** How long Redis stays away. */
  redisDownMs: readonly [number, number];
  redisKills: number;
  /** After so many faults of workers it stays quiet, and what is left is answered. */
  most: number;
};

const FAULTS: FaultSettings = {
  everyMs: [300, 500],
  stopMs: [500, 4_000],
  blockMs: [2_000, 5_000],
  redisDownMs: [200, 1_500],
  redisKills: 8,
  most: Infinity,
};

const BASE = {
  twice: 0.15,
  flakyServices: true,
  wakes: true,
  workers: 3,
  concurrency: 40,
  messagesPerWakeUp: 10,
  whileWaiting: 'buffer',
  keys: 'on',
  modelMs: 60,
  settleMs: [300, 900],
  // A worker that is stopped for longer sends too late, and the order service refuses it.
  toolTimeoutMs: 2_000,
  // Nothing is sent in the second half of this time, and that half is longer than a worker sleeps: what is sent after its
  // time cannot be told from a second reply.
  sendTimeoutMs: 12_000,
  slackMs: 3_000,
  reconcileEveryMs: 500,
  approveEveryMs: 1_000,
} as const;

/** `npm run crash`: minutes. */
export function fullSize(seed: number): RunSettings {
  return {
    ...BASE,
    seed,
    conversations: 200,
    messages: 10,
    paceMs: 20_000,
    faults: FAULTS,
    floor: { faults: 200, redisKills: 3, hitsPerPhase: 10 },
    timeLimitMs: 1_200_000,
    stillMs: 90_000,
  };
}

/** A handful of messages, no chance: what happens to them is up to the scenario. */
export function scenarioSize(settings: Partial<RunSettings>): RunSettings {
  return {
    ...BASE,
    seed: 1,
    twice: 0,
    flakyServices: false,
    workers: 1,
    conversations: 3,
    messages: 2,
    paceMs: 0,
    faults: 'none',
    floor: { faults: 0, redisKills: 0, hitsPerPhase: 0 },
    timeLimitMs: 25_000,
    stillMs: 25_000,
    ...settings,
  };
}

/** Part of `npm test`: half a minute. */
export function smallSize(seed: number): RunSettings {
  return {
    ...BASE,
    seed,
    conversations: 12,
    messages: 3,
    paceMs: 2_500,
    // Shorter faults: what was lost on its way to the desk need not be waited for as long.
    faults: {
      ...FAULTS,
      ...{ stopMs: [500, 1_800], blockMs: [1_200, 1_900] },
      ...{ redisKills: 1, most: 28 },
    },
    sendTimeoutMs: 4_000,
    floor: { faults: 20, redisKills: 1, hitsPerPhase: 0 },
    timeLimitMs: 120_000,
    stillMs: 60_000,
  };
}
