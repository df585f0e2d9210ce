import { expect, test } from 'vitest';
import { messagesOf, readTickets, readWorld } from '../../examples/technova/agent/fixtures.ts';
import { orderIdsIn } from '../../examples/technova/agent/wishes.ts';
import { play, startTechnova } from '../support/technova.ts';

test(
  'all tickets of the example, played together, end as their fixtures say',
  { timeout: 60_000 },
  async () => {
    const tickets = readTickets();
    const technova = await startTechnova(readWorld(), { documents: true });

    const played = await Promise.all(
      tickets.map(async (ticket) => [ticket.id, await play(technova, ticket)] as const),
    );

    const expected = tickets.map(({ id, effects, ...ticket }) => {
      const turns = messagesOf({ id, effects, ...ticket }).flatMap((part) => part.expect ?? []);
      return [id, { turns, effects }];
    });
    expect(Object.fromEntries(played)).toEqual(Object.fromEntries(expected));

    // The judge is the order service's own log: what the fixtures call verified was done, once, and nothing else.
    const wanted = tickets
      .flatMap(({ effects }) => effects)
      .filter(({ status }) => status === 'verified' || status === 'applied')
      .map(({ tool, resource, amount = null }) => `${tool} ${resource} ${amount}`);
    const done = (await technova.effects()).map((entry) => {
      const { operation, orderId, lineId, amount } = entry as { [field: string]: unknown };
      if (operation === 'cancel') return `cancel_order order:${orderId} null`;
      return `issue_refund order:${orderId}/${lineId === null ? 'refund' : `line:${lineId}`} ${amount}`;
    });
    expect(done.toSorted()).toEqual(wanted.toSorted());
  },
);

test(
  'no ticket needs more rounds than a turn has, and none is told of a hold or a review',
  { timeout: 60_000 },
  async () => {
    const tickets = readTickets().filter(({ id }) => /fraud|held|cancel-4482|asks-twice/.test(id));
    const technova = await startTechnova(readWorld());

    await Promise.all(tickets.map((ticket) => play(technova, ticket)));

    for (const { conversationId } of tickets) {
      const turns = await technova.rig.records.turnsOf(`technova/${conversationId}`);
      expect(Math.max(...turns.map(({ state }) => state.rounds.length))).toBeLessThanOrEqual(5);
      const replies = await technova.repliesIn(conversationId, 1);
      expect(replies.join('\n')).not.toMatch(/fraud|review|hold|held/i);
    }
  },
);

test('there are at least 24 tickets, in several languages, and each names its own orders', () => {
  const tickets = readTickets();

  expect(tickets.length).toBeGreaterThanOrEqual(24);
  const text = tickets.map((ticket) => ticket.text).join('\n');
  for (const word of ['Please', 'pedido', 'Bestellung', 'الطلب', 'Bonjour'])
    expect(text).toContain(word);
  const changing = tickets.filter(({ effects }) => effects.length > 0);
  const orders = changing.flatMap((ticket) => orderIdsIn(`${ticket.subject} ${ticket.text}`));
  expect(new Set(orders).size).toBe(changing.length);
});
