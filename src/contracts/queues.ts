import { z } from 'zod';

/** The queues of a lane. Payloads carry ids only: the records in the store are the truth. */
export const QUEUES = {
  turns: 'turns',
  verifications: 'verifications',
  approvals: 'approvals',
  deliveries: 'deliveries',
  batches: 'batches',
} as const;
export type QueueName = keyof typeof QUEUES;

/** Wakes a conversation. Carries no work: the mailbox does. */
export const pokeSchema = z.object({ conversationId: z.string() });
export type Poke = z.infer<typeof pokeSchema>;

/** Moves a batch on. Lies in the first lane. */
export const batchStepSchema = z.object({ batchId: z.string() });
export type BatchStep = z.infer<typeof batchStepSchema>;

/** Wakes what a parked turn waits for. */
export const parkedChildSchema = z.object({
  conversationId: z.string(),
  turnId: z.string(),
  park: z.number().int().positive(),
});
export type ParkedChild = z.infer<typeof parkedChildSchema>;
