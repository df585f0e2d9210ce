import type { DeliveryTarget } from '../contracts/index.ts';

/** One target for several sources: a message goes to that of its source. What none takes stays with an operator. */
export function targets({
  bySource,
}: {
  bySource: Readonly<Record<string, DeliveryTarget>>;
}): DeliveryTarget {
  const all = new Map(Object.entries(bySource));
  return {
    send: async (message, deadline) =>
      all.get(message.source)?.send(message, deadline) ?? { kind: 'refused', reason: 'no_target' },
    find: async (message) => all.get(message.source)?.find(message) ?? { kind: 'unreadable' },
  };
}
