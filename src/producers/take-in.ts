import { InvalidInputError } from '../contracts/index.ts';
import { conversationIdOf, type Store } from '../store/index.ts';
import type { Meter } from '../telemetry/metrics/index.ts';
import { acceptMessage } from './accept-message.ts';
import {
  tellOwn,
  type Change,
  type Mapped,
  type Posted,
  type Said,
  type Source,
} from './ingress/index.ts';
import type { Operator } from './operator.ts';
import type { Queues } from './queues.ts';

export type Intake = {
  store: Store;
  queues: Queues;
  operator: {
    takeOver(conversationId: string, act: Parameters<Operator['takeOver']>[1]): Promise<unknown>;
    ticketChanged: Operator['ticketChanged'];
  };
  meter?: Meter;
  /** What we have posted in a conversation, to tell it when it comes back. */
  posted: (conversationId: string) => Promise<Posted>;
};

export type TakenIn = {
  /** Messages that are new. */
  accepted: number;
  known: number;
  /** Public messages of the staff. */
  takeovers: number;
  /** Why messages of it can never be taken. */
  bad: string[];
};

/** Does what a delivery says, in its order. Whatever throws leaves the rest undone: done again, what was done is known. */
export async function takeIn(intake: Intake, source: Source, mapped: Mapped): Promise<TakenIn> {
  const { changes, takeovers, accept } = await withoutOurs(intake, source, mapped);
  for (const change of changes) await changed(intake, source, change);
  for (const said of takeovers) await takenOver(intake, source, said);
  const taken: TakenIn = { accepted: 0, known: 0, takeovers: takeovers.length, bad: [] };
  for (const message of accept) {
    try {
      const { store, queues, meter } = intake;
      const options = { wakeLater: true, ...(meter === undefined ? {} : { meter }) };
      const { kind } = await acceptMessage(store, queues, message, options);
      taken[kind] += 1;
    } catch (error) {
      if (!(error instanceof InvalidInputError)) throw error;
      taken.bad.push(error.message);
    }
  }
  return taken;
}

/** Asked after the delivery was read: what we had posted by then is on record, or still on its way. */
async function withoutOurs({ posted }: Intake, source: Source, mapped: Mapped): Promise<Mapped> {
  const ids = [...mapped.accept, ...mapped.takeovers, ...mapped.ignored].flatMap((one) =>
    'why' in one ? (one.said?.conversationId ?? []) : one.conversationId,
  );
  const known = new Map<string, Posted>();
  for (const id of new Set(ids)) known.set(id, await posted(conversationIdOf(source.name, id)));
  return tellOwn(mapped, (id) => known.get(id) ?? { ids: new Set<string>(), sending: false });
}

/** A person of the staff has written to the customer: theirs from now on, and what they wrote is remembered. */
async function takenOver({ operator }: Intake, source: Source, said: Said): Promise<void> {
  const { conversationId, messageId, by, text } = said;
  await operator.takeOver(conversationIdOf(source.name, conversationId), {
    by: `${source.name}: ${by}`,
    reason: 'wrote to the customer in the ticketing system',
    message: { messageId, text },
  });
}

async function changed({ operator }: Intake, source: Source, change: Change): Promise<void> {
  const conversationId = conversationIdOf(source.name, change.conversationId);
  if (change.change === 'with_people') {
    await operator.takeOver(conversationId, {
      by: source.name,
      reason: 'the ticketing system gave it to people',
    });
    return;
  }
  const { into } = change;
  await operator.ticketChanged(conversationId, {
    change: change.change,
    ...(into === undefined ? {} : { into: conversationIdOf(source.name, into) }),
  });
}
