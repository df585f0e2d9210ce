const DAY_MS = 86_400_000;

/** How long records are kept. Nothing that a promise still needs is dropped: open turns and unsettled effects have no time-out. */
export type Retention = {
  /** Message and delivery ids of the sources, counted from the end of their turn: at least their longest retry window. */
  claimsMs: number;
  /** Turn records, deliveries and approvals after their end. */
  turnsMs: number;
  /** Ended turns listed at most; the oldest go first. */
  turnsKept: number;
  ledgerMs: number;
  /** History, facts and owner of a conversation after its last turn. */
  conversationMs: number;
  /** History entries of a conversation. */
  historyKept: number;
};

export const DEFAULT_RETENTION: Retention = {
  claimsMs: 7 * DAY_MS,
  turnsMs: 30 * DAY_MS,
  turnsKept: 1_000_000,
  ledgerMs: 365 * DAY_MS,
  conversationMs: 90 * DAY_MS,
  historyKept: 50,
};
