import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { InvalidInputError } from '../src/contracts/index.ts';

/** What must come out, at each of the three levels at which a case is judged. */
const expectationSchema = z.strictObject({
  /** What became of the customer's case. */
  outcome: z.strictObject({
    /** One a turn: `completed/replied`, or `waits for approval`. */
    turns: z.array(z.string()),
    /** Each must stand in what the customer was sent. */
    says: z.array(z.string()).default([]),
    /** None may stand in what the customer was sent. */
    neverSays: z.array(z.string()).default([]),
  }),
  /** What is on record afterwards, here and in the shop. */
  history: z.strictObject({
    /** What the next turn would be shown: `turn` with all of its messages, or a generated `line`. */
    entries: z.array(z.enum(['turn', 'line'])),
    /** `tool resource status`, oldest first. */
    ledger: z.array(z.string()),
    /** What went to the ticket, in order. */
    deliveries: z.array(z.enum(['reply', 'holding', 'handover', 'note'])),
    /** By the shop's own log: `cancel 4482`, `refund 4482 74000 (cancelled)` with the order's status then. */
    effects: z.array(z.string()),
  }),
  /** The way there, in the words of `shapeOf`. */
  trace: z.array(z.string()),
});
export type Expectation = z.infer<typeof expectationSchema>;

const caseSchema = z.strictObject({
  id: z.string().regex(/^[a-z0-9-]+$/),
  /** Why the case is there. */
  note: z.string(),
  requester: z.strictObject({
    id: z.string(),
    assurance: z.enum(['none', 'claimed', 'verified']).default('verified'),
  }),
  /** One turn each, unless an earlier one has not ended. */
  messages: z.array(z.string()).min(1),
  /** What the person says who is asked. `nobody`: it expires. Left out: the turn goes on waiting. */
  approver: z.enum(['approved', 'rejected', 'nobody', 'takes over']).optional(),
  /** Switches and faults of the order service, as its admin routes take them. */
  settings: z.record(z.string(), z.unknown()).optional(),
  faults: z.array(z.record(z.string(), z.unknown())).optional(),
  expect: expectationSchema,
});
export type EvalCase = z.infer<typeof caseSchema>;

const FILE = new URL('cases.json', import.meta.url);

/** @throws InvalidInputError naming the case and the field */
export function readCases(file: string | URL = FILE): EvalCase[] {
  const listed = z.array(z.unknown()).parse(JSON.parse(readFileSync(file, 'utf8')));
  const cases = listed.map((value, index) => {
    const parsed = caseSchema.safeParse(value, { reportInput: true });
    if (parsed.success) return parsed.data;
    const [issue] = parsed.error.issues;
    const field = `case ${index + 1}, ${issue?.path.join('.') ?? ''}`;
    throw new InvalidInputError(field, issue?.input, issue?.message ?? 'cannot be used');
  });
  const ids = cases.map(({ id }) => id);
  const twice = ids.find((id, index) => ids.indexOf(id) !== index);
  if (twice !== undefined) throw new InvalidInputError('id', twice, 'is used by two cases');
  return cases;
}
