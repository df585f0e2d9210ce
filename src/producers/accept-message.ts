import { InvalidInputError, ticketMessageSchema } from '../contracts/index.ts';
import type { Accepted, Store } from '../store/index.ts';
import type { Queues } from './queues.ts';

/**
 * Takes one message in. When this resolves the message is stored, as durably as Redis is configured; it will be
 * answered even if the wake-up behind it got lost.
 *
 * @throws InvalidInputError naming the field that cannot be used
 */
export async function acceptMessage(
  store: Store,
  queues: Queues,
  input: unknown,
): Promise<Accepted> {
  const message = ticketMessageSchema.safeParse(input, { reportInput: true });
  if (!message.success) {
    const [issue] = message.error.issues;
    throw new InvalidInputError(
      issue?.path.join('.') || 'message',
      issue?.input,
      issue?.message ?? '',
    );
  }
  const accepted = await store.acceptMessage(message.data);
  // Behind another message nobody has to be woken: whoever answers that one goes on with this one. The reconciler pokes
  // a conversation whose wake-up failed.
  // A hand-over that is repeated may be one whose first answer, and so its wake-up, was lost.
  const unanswered = accepted.kind === 'known' && accepted.turnId === undefined;
  if (accepted.first || unanswered) {
    await queues.poke('turns', accepted.conversationId).catch(() => {});
  }
  if (accepted.overtakes === true) {
    await queues.overtake(accepted.conversationId).catch(() => {});
  }
  if (accepted.superseded !== undefined) {
    const parked = await store.parkedTurn(accepted.conversationId, accepted.superseded);
    if (parked !== undefined) await queues.wake(parked, accepted.conversationId).catch(() => {});
  }
  return accepted;
}
