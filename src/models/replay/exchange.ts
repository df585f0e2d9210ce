import { z } from 'zod';
import { modelFailureSchema, proposalSchema, usageSchema } from '../../contracts/index.ts';
import { canonicalJson, sha256, type View } from '../../loop/index.ts';

/** One line of a recording. The view itself is not in it: what customers wrote stays out, its digest tells it again. */
export const exchangeSchema = z.object({
  view: z.string(),
  estimate: z.object({ tokens: z.number(), costMicros: z.number() }),
  answer: z.discriminatedUnion('ok', [
    z.object({
      ok: z.literal(true),
      proposal: proposalSchema,
      usage: usageSchema,
      model: z.string(),
    }),
    z.object({
      ok: z.literal(false),
      failure: modelFailureSchema,
      usage: usageSchema.optional(),
    }),
  ]),
});
export type RecordedExchange = z.infer<typeof exchangeSchema>;

/** What is another each time, though nothing else was said. */
const VOLATILE: ReadonlySet<string> = new Set([
  ...['at', 'hash', 'latencyMs', 'operation', 'stale', 'turnId'],
]);

/** Names a view by what is said in it, not by when. */
export function viewDigest(view: View): string {
  return sha256(canonicalJson(withoutTimes(view))).slice(0, 32);
}

function withoutTimes(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value, (name, inner: unknown) => (VOLATILE.has(name) ? undefined : inner)),
  );
}
