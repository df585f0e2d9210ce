import { z } from 'zod';
import { OUTCOMES } from './outcome.ts';

/** Where a turn that has not ended is. The last three occupy no worker. */
export const PHASES = [
  'queued',
  'requesting_model',
  'validating_actions',
  'running_tools',
  'awaiting_verification',
  'awaiting_approval',
  'backing_off',
] as const;
export type Phase = (typeof PHASES)[number];

/** Why a turn waits, and what a verification or approval worker needs to know about it. */
export const parkSchema = z.object({
  /** Counts the parks of the turn from 1; fences verdicts of earlier parks. */
  number: z.number().int().positive(),
  kind: z.enum(['verification', 'approval', 'back_off']),
  /** When it is over at the latest, milliseconds since the epoch. */
  dueAt: z.number().int(),
  callId: z.string().optional(),
  approvalId: z.string().optional(),
});
export type Park = z.infer<typeof parkSchema>;

/** The head of a turn record as lists and operators see it. The event list holds the rest. */
export const turnHeadSchema = z
  .object({
    id: z.string(),
    conversationId: z.string(),
    intent: z.string(),
    startedAt: z.coerce.number().int(),
    /** Number of events on record. */
    seq: z.coerce.number().int(),
    messageCount: z.coerce.number().int(),
  })
  .and(
    z.discriminatedUnion('phase', [
      z.object({
        phase: z.enum(PHASES),
        outcome: z.undefined().optional(),
        park: parkSchema.optional(),
      }),
      z.object({
        phase: z.literal('ended'),
        outcome: z.enum(OUTCOMES),
        reason: z.string(),
        endedAt: z.coerce.number().int(),
      }),
    ]),
  );
export type TurnHead = z.infer<typeof turnHeadSchema>;
