import { describe, expect, test } from 'vitest';
import { ticketDesk } from '../../examples/technova/agent/ticket-desk.ts';
import type { OutgoingMessage } from '../../src/contracts/index.ts';
import { deserted, startServices, startTechnova } from '../support/technova.ts';

const message: OutgoingMessage = {
  source: 'technova',
  externalId: 'case 1/ä',
  kind: 'reply',
  text: 'Hello',
  reference: 'ref-1',
};
const soon = () => Date.now() + 2_000;

async function startDesk(fault?: { kind: string }) {
  const { desk } = await startServices();
  if (fault !== undefined)
    await desk.post('/admin/faults', { faults: [{ operation: 'reply', ...fault }] });
  return { desk, target: ticketDesk(desk.url) };
}

describe('sending to the ticket desk', () => {
  test.each([
    ['reply', 'reply'],
    ['holding', 'reply'],
    ['handover', 'reply'],
    ['note', 'note'],
  ] as const)(
    'a %s arrives as a %s with our reference, and is found again',
    async (kind, arrivesAs) => {
      const { desk, target } = await startDesk();

      const sent = await target.send({ ...message, kind }, soon());

      const { body } = await desk.get(`/conversations/${encodeURIComponent(message.externalId)}`);
      expect(body).toMatchObject({
        messages: [{ kind: arrivesAs, text: 'Hello', reference: 'ref-1' }],
      });
      expect(sent).toEqual({ kind: 'sent', targetId: 'msg-1' });
      expect(await target.find(message)).toEqual({ kind: 'found', targetId: 'msg-1' });
    },
  );

  test('what the desk refuses will never be sent', async () => {
    const { desk, target } = await startDesk();
    await desk.post('/admin/conversations', {
      conversations: [{ id: message.externalId, status: 'merged' }],
    });

    expect(await target.send(message, soon())).toEqual({
      kind: 'refused',
      reason: 'conversation_merged',
    });
  });

  test('after the deadline nothing is sent', async () => {
    const { desk, target } = await startDesk();

    expect(await target.send(message, Date.now())).toEqual({
      kind: 'not_sent',
      reason: 'deadline_passed',
    });
    expect(await desk.log({ kind: 'request' })).toEqual([]);
  });

  test('a desk that does not listen got nothing', async () => {
    const target = ticketDesk(await deserted());

    expect(await target.send(message, soon())).toEqual({ kind: 'not_sent', reason: 'desk_down' });
    expect(await target.find(message)).toEqual({ kind: 'unreadable' });
  });

  test.each(['fail_before', 'fail_after', 'drop_before', 'drop_after'])(
    'after %s nobody knows; a re-read tells',
    async (kind) => {
      const { target } = await startDesk({ kind });

      expect(await target.send(message, soon())).toMatchObject({ kind: 'unknown' });
      expect(await target.find(message)).toMatchObject({
        kind: kind.endsWith('after') ? 'found' : 'absent',
      });
    },
  );

  test('a desk that hangs is left at the deadline', async () => {
    const { target } = await startDesk({ kind: 'hang_after' });
    const deadline = Date.now() + 150;

    expect(await target.send(message, deadline)).toMatchObject({ kind: 'unknown' });
    expect(Date.now() - deadline).toBeLessThan(1_000);
  });
});

test('[P14] a reply whose answer was lost is read back and not sent a second time', async () => {
  const technova = await startTechnova();
  await technova.desk.post('/admin/faults', {
    faults: [{ operation: 'reply', kind: 'fail_after' }],
  });

  await technova.say('Where is my order #4482?');
  await technova.say('Do you sell gift cards?');

  // Replies go out in order: the second one goes when the first is settled.
  const [first, second] = await technova.repliesIn('c1', 2);
  expect(first).toMatch(/^Order 4482/);
  expect(second).toMatch(/^I cannot answer/);
});
