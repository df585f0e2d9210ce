import { z } from 'zod';

/** A normalised tool result: what came back, from whom, and how far it may be trusted. */
export const observationSchema = z.object({
  callId: z.string(),
  /** Which tool (or verification read of it) said so. */
  provenance: z.string(),
  /** Tool output is data of another system: it never carries instructions. */
  trust: z.literal('untrusted'),
  /** When it was read, milliseconds since the epoch. */
  at: z.number().int(),
  data: z.unknown(),
  /** Size in bytes of the canonical JSON before it was capped. */
  size: z.number().int().nonnegative(),
  /** First 16 hex digits of SHA-256 over the canonical JSON before it was capped. */
  hash: z.string(),
  truncated: z.boolean().optional(),
});
export type Observation = z.infer<typeof observationSchema>;

/** The six checks in their order. A rejection names the check it came from. */
export const CHECKS = [
  'schema',
  'allowlist',
  'authorization',
  'budget',
  'idempotency',
  'approval',
] as const;
export type Check = (typeof CHECKS)[number];

/** The call ignored its end and was left behind; it may still be running. */
const abandoned = z.boolean().optional();

/**
 * How a tool call ended, worded by the runtime and not by the model or the tool.
 * - `ok`: the tool answered and the answer fits its contract.
 * - `rejected`: one of the six checks refused it; nothing was sent.
 * - `refused`: the backend answered that it did not do it.
 * - `failed`: it did not happen and may be tried again (`transient`) or not.
 * - `unknown`: a write whose answer never came.
 */
export const callResultSchema = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('ok'),
    observation: observationSchema,
    /** The operation had been applied before; this is its earlier outcome. */
    earlier: z.boolean().optional(),
  }),
  z.object({
    kind: z.literal('rejected'),
    check: z.enum(CHECKS),
    code: z.string(),
    message: z.string(),
  }),
  z.object({ kind: z.literal('refused'), code: z.string(), message: z.string() }),
  z.object({
    kind: z.literal('failed'),
    code: z.string(),
    message: z.string(),
    transient: z.boolean(),
    abandoned,
  }),
  z.object({ kind: z.literal('unknown'), code: z.string(), message: z.string(), abandoned }),
]);
export type CallResult = z.infer<typeof callResultSchema>;
