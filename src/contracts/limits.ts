import { z } from 'zod';

const count = z.number().int().positive();

/** The accounts of a turn. Frozen when the turn starts, so that a changed configuration never rewrites a running turn. */
export const limitsSchema = z.object({
  /** Model calls a turn; tools asked for in the last one do not run. */
  rounds: count.default(5),
  /** Tool calls of one round that are looked at; the rest is rejected. */
  callsPerRound: count.default(3),
  /** Tool calls of a turn. */
  toolCalls: count.default(15),
  tokens: count.default(60_000),
  /** Micro-dollars. */
  costMicros: count.default(500_000),
  /** Milliseconds from the start of the turn; waiting for a person does not count. */
  deadlineMs: count.default(600_000),
  modelTimeoutMs: count.default(60_000),
  /** How long an outside call may give no sign of progress. Milliseconds. */
  silenceMs: count.default(20_000),
  approvalMs: count.default(86_400_000),
  parks: count.default(10),
  /** The n-th identical failure stops the turn. */
  identicalFailures: count.default(3),
  /** The n-th failure in a row stops the turn, identical or not. */
  consecutiveFailures: count.default(5),
  /** Model calls in a row that end without any answer before the turn gives up. */
  modelFailures: count.default(5),
  /** Finish candidates (and unreadable proposals) sent back before the turn gives up. */
  rejectedFinishes: count.default(2),
});
export type Limits = z.infer<typeof limitsSchema>;
export const DEFAULT_LIMITS: Limits = limitsSchema.parse({});

/** Accounts that replace those of the agent, and no others. */
export const limitOverridesSchema = z.partialRecord(limitsSchema.keyof(), count);
export type LimitOverrides = z.infer<typeof limitOverridesSchema>;

/** What a conversation has used up since it began, and since the day (UTC, `2026-12-01`) began. */
export const accountSchema = z.object({
  tokens: z.number().int(),
  costMicros: z.number().int(),
  replies: z.number().int(),
  day: z.string(),
  dayTokens: z.number().int(),
  dayCostMicros: z.number().int(),
  dayReplies: z.number().int(),
});
export type Account = z.infer<typeof accountSchema>;

/** Most a conversation may use in all, or a day. What is left out is not limited. */
export type Caps = { tokens?: number; costMicros?: number; replies?: number };

/** What is not as by default: all a record has to keep. */
export function limitsBeside(limits: Limits): Partial<Limits> {
  const names = Object.keys(DEFAULT_LIMITS) as (keyof Limits)[];
  return Object.fromEntries(
    names.flatMap((name) => (limits[name] === DEFAULT_LIMITS[name] ? [] : [[name, limits[name]]])),
  );
}
