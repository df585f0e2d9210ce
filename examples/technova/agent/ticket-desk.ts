import { z } from 'zod';
import type { DeliveryTarget, OutgoingMessage, SendResult } from '../../../src/index.ts';
import { wasNeverSent } from './order-api.ts';

const writtenSchema = z.object({ message: z.object({ id: z.string() }) });
const problemSchema = z.object({ error: z.object({ code: z.string() }) });
const conversationSchema = z.object({
  messages: z.array(z.object({ id: z.string(), reference: z.string().nullable() })),
});

const PLACES = {
  reply: 'replies',
  holding: 'replies',
  handover: 'replies',
  note: 'notes',
} as const;
const LONGEST_CALL_MS = 5_000;

/** The way back to the ticket desk. It has no idempotency key: our reference on the message is what a re-read finds. */
export function ticketDesk(url: string): DeliveryTarget {
  const pathOf = ({ externalId }: OutgoingMessage): string =>
    `${url}/conversations/${encodeURIComponent(externalId)}`;
  return {
    async send(message, deadline) {
      const { kind, text, reference } = message;
      const path = `${pathOf(message)}/${PLACES[kind]}`;
      const init = {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ text, reference }),
      };
      const left = deadline - Date.now();
      if (left <= 0) return { kind: 'not_sent', reason: 'deadline_passed' };
      try {
        const signal = AbortSignal.timeout(Math.min(left, LONGEST_CALL_MS));
        return await readAnswer(await fetch(path, { ...init, signal }));
      } catch (error) {
        return wasNeverSent(error)
          ? { kind: 'not_sent', reason: 'desk_down' }
          : { kind: 'unknown', reason: 'no_answer' };
      }
    },

    async find(message) {
      try {
        const response = await fetch(pathOf(message), {
          signal: AbortSignal.timeout(LONGEST_CALL_MS),
        });
        if (response.status === 404) return { kind: 'absent' };
        if (!response.ok) return { kind: 'unreadable' };
        const { messages } = conversationSchema.parse(await response.json());
        const ours = messages.find(({ reference }) => reference === message.reference);
        return ours === undefined ? { kind: 'absent' } : { kind: 'found', targetId: ours.id };
      } catch {
        return { kind: 'unreadable' };
      }
    },
  };
}

/** Only a 4xx says that the desk did not and will not take it; after a 5xx it may have. */
async function readAnswer(response: Response): Promise<SendResult> {
  const { status } = response;
  if (status === 201) {
    const { message } = writtenSchema.parse(await response.json());
    return { kind: 'sent', targetId: message.id };
  }
  if (status < 400 || status >= 500) return { kind: 'unknown', reason: `http_${status}` };
  const problem = problemSchema.safeParse(await response.json().catch(() => undefined));
  return { kind: 'refused', reason: problem.data?.error.code ?? `http_${status}` };
}
