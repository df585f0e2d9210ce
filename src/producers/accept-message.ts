import { InvalidInputError, ticketMessageSchema } from '../contracts/index.ts';
import type { Accepted, Store } from '../store/index.ts';
import { noMeter, OTHER, type Meter } from '../telemetry/metrics/index.ts';
import type { Queues } from './queues.ts';

/**
 * Takes one message in. When this resolves the message is stored, as durably as Redis is configured; it will be
 * answered even if the wake-up behind it got lost. With `wakeLater` the wake-up is on its way and not waited for.
 *
 * @throws InvalidInputError naming the field that cannot be used
 */
export async function acceptMessage(
  store: Store,
  queues: Queues,
  input: unknown,
  { wakeLater = false, meter = noMeter }: { wakeLater?: boolean; meter?: Meter } = {},
): Promise<Accepted> {
  const message = ticketMessageSchema.safeParse(input, { reportInput: true });
  if (!message.success) {
    meter.add('messages_total', { source: OTHER, received: 'refused' });
    const [issue] = message.error.issues;
    throw new InvalidInputError(
      issue?.path.join('.') || 'message',
      issue?.input,
      issue?.message ?? '',
    );
  }
  const accepted = await store.acceptMessage(message.data);
  const received = accepted.kind === 'accepted' ? 'accepted' : 'duplicate';
  meter.add('messages_total', { source: message.data.source, received });
  const woken = wake(store, queues, accepted).catch(() => {});
  if (!wakeLater) await woken;
  return accepted;
}

/** The reconciler makes up for what fails here. */
async function wake(store: Store, queues: Queues, accepted: Accepted): Promise<void> {
  const { kind, conversationId, first, turnId, overtakes, superseded } = accepted;
  // Behind another message nobody has to be woken: whoever answers that one goes on with this one. A hand-over that is
  // repeated may be one whose first answer, and so its wake-up, was lost.
  const unanswered = kind === 'known' && turnId === undefined;
  if (first === true || unanswered) await queues.poke('turns', conversationId);
  if (overtakes === true) await queues.overtake(conversationId);
  if (superseded === undefined) return;
  const parked = await store.parkedTurn(conversationId, superseded);
  if (parked !== undefined) await queues.wake(parked, conversationId);
}
