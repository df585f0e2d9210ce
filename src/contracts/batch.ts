import { z } from 'zod';
import { EFFECT_STATUSES } from './ledger.ts';

/**
 * `planned`: selected, frozen, nothing started. `stopped`: it stopped itself, see `stopWhy`. A batch that is paused or
 * stopped can be resumed; one that is aborted or done cannot.
 */
export const BATCH_STATUSES = [
  'planned',
  'running',
  'paused',
  'stopped',
  'aborted',
  'done',
] as const;
export type BatchStatus = (typeof BATCH_STATUSES)[number];

/** Which turns to look at. What is left out does not matter. Times in milliseconds since the epoch. */
export const batchFilterSchema = z.object({
  outcomes: z.array(z.string()).optional(),
  reasons: z.array(z.string()).optional(),
  sources: z.array(z.string()).optional(),
  conversations: z.array(z.string()).optional(),
  /** Turns that called, or wanted to call, one of these. */
  tools: z.array(z.string()).optional(),
  skills: z.array(z.string()).optional(),
  models: z.array(z.string()).optional(),
  endedAfter: z.number().int().optional(),
  endedBefore: z.number().int().optional(),
});
export type BatchFilter = z.infer<typeof batchFilterSchema>;

const effect = z.object({
  operation: z.string(),
  tool: z.string(),
  resource: z.string(),
  status: z.enum(EFFECT_STATUSES).or(z.literal('planned')),
});

/** One turn of a plan, and what is known of it before anything runs. */
export const batchCaseSchema = z.object({
  turnId: z.string(),
  conversationId: z.string(),
  verdict: z.enum(['run', 'skip', 'person']),
  /** Why it is not run. */
  why: z.string().optional(),
  before: z.object({ outcome: z.string(), reason: z.string() }),
  /** On record as done: they will not happen again. */
  done: z.array(effect),
  /** Wanted then and not done: they may happen now. */
  open: z.array(effect),
  /** What the turn cost then; the estimate for now. Micro-dollars and milliseconds. */
  costMicros: z.number().int(),
  durationMs: z.number().int(),
});
export type BatchCase = z.infer<typeof batchCaseSchema>;

/** How a case came out: it ran as another turn, or was skipped at the last moment. */
export const batchResultSchema = z.union([
  z.object({ turn: z.string(), skipped: z.string() }),
  z.object({ turn: z.string(), as: z.string(), outcome: z.string(), reason: z.string() }),
]);
export type BatchResult = z.infer<typeof batchResultSchema>;

export const batchSchema = z.object({
  id: z.string(),
  status: z.enum(BATCH_STATUSES),
  filter: batchFilterSchema,
  plannedAt: z.number().int(),
  /** SHA-256 over the plan: what was looked at is what runs. */
  hash: z.string(),
  cases: z.number().int(),
  toRun: z.number().int(),
  name: z.string().optional(),
  by: z.string().optional(),
  reason: z.string().optional(),
  /** Cases started a second. */
  rate: z.number().positive(),
  /** Share of cases that end otherwise than completed at which it stops itself, 0 to 1. */
  stopIf: z.number().min(0).max(1).optional(),
  /** Next case of the plan that has not been started. */
  next: z.number().int(),
  /** Cases that were started, those skipped at the last moment included. */
  started: z.number().int(),
  startedAt: z.number().int().optional(),
  endedAt: z.number().int().optional(),
  stopWhy: z.string().optional(),
});
export type Batch = z.infer<typeof batchSchema>;
