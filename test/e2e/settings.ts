/** How big a run is and how hard it is hit. Times in milliseconds. */
export type DeskRunSettings = {
  seed: number;
  /** Tickets of each of the four desks. */
  tickets: number;
  /** Messages of the customer in each. */
  messages: number;
  /** Share of the tickets that one of the staff answers in the middle. */
  withPeople: number;
  /** Share of events that come twice. */
  duplicates: number;
  /** How far events overtake each other. */
  reorderMs: number;
  /** Longest pause between two messages of a customer. */
  paceMs: number;
  workers: number;
  /** Between two kills, at least and at most; and how long the service stays away. */
  killEveryMs: readonly [number, number];
  downMs: readonly [number, number];
  /** After so many it stays quiet, and what is left is answered. */
  mostKills: number;
  sendTimeoutMs: number;
  slackMs: number;
  /** Seconds between two sweeps of the service. */
  sweepEverySeconds: number;
  /** What a run must have gone through to count. */
  floor: { apiKills: number; workerKills: number; lostEvents: number; duplicates: number };
  timeLimitMs: number;
};

const BASE = {
  duplicates: 0.3,
  reorderMs: 60,
  withPeople: 0.1,
  workers: 2,
  slackMs: 3_000,
} as const;

/** Part of `npm test`. */
export function smallSize(seed: number): DeskRunSettings {
  return {
    ...BASE,
    seed,
    tickets: 4,
    messages: 4,
    withPeople: 0.25,
    paceMs: 1_000,
    killEveryMs: [500, 900],
    downMs: [0, 500],
    mostKills: 8,
    sendTimeoutMs: 4_000,
    sweepEverySeconds: 1,
    floor: { apiKills: 1, workerKills: 2, lostEvents: 0, duplicates: 10 },
    timeLimitMs: 60_000,
  };
}

/** 2,000 messages. */
export function fullSize(seed: number): DeskRunSettings {
  return {
    ...BASE,
    seed,
    tickets: 50,
    messages: 10,
    paceMs: 10_000,
    killEveryMs: [1_000, 3_000],
    downMs: [0, 1_500],
    mostKills: 50,
    // What a desk was sent by a worker that is gone must have arrived, or never arrive, within half of it.
    sendTimeoutMs: 10_000,
    sweepEverySeconds: 5,
    floor: { apiKills: 10, workerKills: 15, lostEvents: 20, duplicates: 500 },
    timeLimitMs: 900_000,
  };
}
