/** How the demo sets its store up, in every process. */
export const PLAY = {
  /** A wake-up that gets lost (a yes that comes while its turn is being parked) is repaired after this long. */
  slackMs: 1_000,
} as const;

/** Conversations a worker process works on at a time. */
export const CONCURRENCY = 10;
