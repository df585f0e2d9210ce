import { ZodError } from 'zod';
import type { Answer } from './adapter.ts';
import type { Mapped } from './mapped.ts';
import type { WebhookRequest } from './request.ts';
import type { Refusal } from './signature.ts';
import type { Source } from './source.ts';

/** What a delivery turned out to be, with the answer for it. */
export type Reception =
  | { kind: 'refused'; reason: Refusal; answer: Answer }
  /** Genuine, but not understood: keep its bytes for a person. */
  | { kind: 'unreadable'; why: string; answer: Answer }
  /** Give `answer` once everything in it is stored, else `notStored`. */
  | { kind: 'mapped'; mapped: Mapped; answer: Answer; notStored: Answer };

/** Checks and reads a delivery. Never throws: a body of any shape has an answer. */
export async function receive(source: Source, request: WebhookRequest): Promise<Reception> {
  const { adapter, secrets } = source;
  const verdict = adapter.verify(request, secrets);
  if (!verdict.ok) {
    return { kind: 'refused', reason: verdict.reason, answer: { status: verdict.status } };
  }
  const { taken, notStored, unreadable } = adapter.answers;
  try {
    const mapped = await adapter.map(request, source);
    return { kind: 'mapped', mapped, answer: taken, notStored };
  } catch (error) {
    return { kind: 'unreadable', why: whyOf(error), answer: unreadable };
  }
}

/** Names what is wrong, in our words: messages of parsers quote what they read. */
function whyOf(error: unknown): string {
  if (error instanceof ZodError) {
    const fields = error.issues.map(({ path }) => path.join('.') || 'the payload');
    return `unexpected or missing: ${[...new Set(fields)].slice(0, 10).join(', ')}`;
  }
  if (error instanceof SyntaxError) return 'not JSON';
  return error instanceof TypeError ? error.message.slice(0, 200) : 'not readable';
}
