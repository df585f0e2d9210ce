/** How large a run is. */
export type Size = {
  /** Interleaved repeats; figures are their medians. */
  repeats: number;
  /** Raw jobs each time. */
  jobs: number;
  /** Turns of the measurements named after `conversations x messages`, divided by this. */
  divisor: number;
  parkingTurns: number;
  latencySeconds: number;
  parkedTurns: number;
  backlogs: readonly number[];
  /** Turns drained at each backlog. */
  slice: number;
  kills: number;
  /** Kills under way at a time, each with worker processes of its own. */
  cells: number;
};

export const FULL: Size = {
  repeats: 5,
  jobs: 10_000,
  divisor: 1,
  parkingTurns: 2_000,
  latencySeconds: 20,
  parkedTurns: 1_000,
  backlogs: [1_000, 10_000, 100_000],
  slice: 800,
  kills: 50,
  cells: 4,
};

/** About a minute; too short for small differences. */
export const QUICK: Size = {
  repeats: 3,
  jobs: 1_500,
  divisor: 10,
  parkingTurns: 300,
  latencySeconds: 4,
  parkedTurns: 300,
  backlogs: [1_000, 10_000],
  slice: 800,
  kills: 8,
  cells: 4,
};

/** Messages (or raw jobs) handed in at a time, and conversations (or raw jobs) worked on at a time. */
export const CLIENTS = 100;
export const CONCURRENCY = 100;
