import type { Finish } from '../../../src/index.ts';
import { orderFact } from './shapes.ts';

/**
 * What a reply says about an order must be what the order service last said about it: a sentence that calls it cancelled or
 * refunded goes back to the model unless it is.
 */
export function statesOnlyFacts({ reply, facts }: Finish): string | undefined {
  for (const sentence of reply.split(/(?<=[.!?]) /)) {
    for (const [, id] of sentence.matchAll(/\border (\d[\d-]*)/gi)) {
      const order = orderFact(facts, id ?? '');
      if (id === undefined) continue;
      if (/\bis cancelled\b/i.test(sentence) && order?.status !== 'cancelled') {
        return `order ${id} is ${order?.status ?? 'not read'}, not cancelled`;
      }
      const refunded = facts[`order:${id}/refund`] !== undefined || (order?.refunded ?? 0) > 0;
      if (
        /\b(?:has|have) been refunded\b|\bis .*refunded\b/i.test(sentence) &&
        !refunded &&
        !hasLineRefund(id, facts)
      ) {
        return `nothing has been refunded for order ${id}`;
      }
    }
  }
  return undefined;
}

function hasLineRefund(id: string, facts: Finish['facts']): boolean {
  return Object.keys(facts).some((resource) => resource.startsWith(`order:${id}/line:`));
}
