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
  /**
   * Why nothing is known: the read, or the judge of what it found, had no answer, or the judge was not asked because it
   * would have cost more than is left. `abandoned`: it may still be running.
   */
  failed: z
    .object({
      code: z.enum(['timed_out', 'silent', 'stopped', 'no_answer', 'over_budget']),
      abandoned: z.boolean().optional(),
    })
    .optional(),
  /** Who judged the read where its contract asks for a judge, and what that cost; without an answer: its estimate. */
  judge: z
    .object({
      model: z.string().optional(),
      usage: usageSchema,
      rationale: z.string().max(500).optional(),
    })
    .optional(),
  latencyMs: z.number().nonnegative(),
});
export type VerificationRead = z.infer<typeof verificationReadSchema>;
