import type { Ticket } from '../../examples/technova/agent/fixtures.ts';
import { usageError } from '../../src/cli/errors.ts';
import { conversationIdOf } from '../../src/store/index.ts';

/** Who answers the requests for approval. */
export const OPERATOR = 'demo-operator';

const TICKET = 'cancel-4482';
const SOURCE = 'technova';

/** The one case the demo tells in detail: cancel order #4482, which is accepted and not done, and refund $740. */
export type Scenario = { ticket: Ticket; conversationId: string; orderId: string };

/** @throws CommandError when the tickets do not hold it */
export function scenarioOf(tickets: readonly Ticket[]): Scenario {
  const ticket = tickets.find(({ id }) => id === TICKET);
  const orderId = /^order:([^/]+)/.exec(ticket?.effects[0]?.resource ?? '')?.[1];
  if (ticket === undefined || orderId === undefined) {
    throw usageError(
      `the tickets hold no ${TICKET} with its effects, which the demo tells in detail; add it`,
    );
  }
  return { ticket, conversationId: conversationOf(ticket), orderId };
}

/** What the store calls the conversation of a ticket. */
export function conversationOf({ conversationId }: Ticket): string {
  return conversationIdOf(SOURCE, conversationId);
}
