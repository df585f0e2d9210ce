import { z } from 'zod';
import { observationSchema } from './observation.ts';
import { usageSchema } from './proposal.ts';

/** What an authoritative re-read says about an effect. `unknown`: the read itself failed. */
export const VERDICTS = ['landed', 'not_landed', 'pending', 'blocked', 'unknown'] as const;
export type Verdict = (typeof VERDICTS)[number];

/** One re-read of the system that owns the fact, made after the act. */
export const verificationReadSchema = z.object({
  verdict: z.enum(VERDICTS),
  /** Milliseconds since the epoch. */
  at: z.number().int(),
  observation: observationSchema.optional(),
  /** Why there is no observation: the read had no answer. `abandoned`: it may still be running. */
  failed: z
    .object({
      code: z.enum(['timed_out', 'silent', 'stopped', 'no_answer']),
      abandoned: z.boolean().optional(),
    })
    .optional(),
  /** Who judged the read where its contract asks for a judge, and what that cost. */
  judge: z
    .object({ model: z.string(), usage: usageSchema, rationale: z.string().max(500).optional() })
    .optional(),
  latencyMs: z.number().nonnegative(),
});
export type VerificationRead = z.infer<typeof verificationReadSchema>;
