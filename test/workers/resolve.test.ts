import { expect, onTestFinished, test } from 'vitest';
import { startApi } from '../../src/http/index.ts';
import { LostClaimError } from '../../src/loop/index.ts';
import { scriptedModel } from '../../src/models/index.ts';
import { httpApi } from '../../src/producers/ingress/index.ts';
import { Operator } from '../../src/producers/operator.ts';
import { Sweep } from '../../src/producers/sweep.ts';
import { startDeskFake, type DeskFake } from '../support/desks/desk-fake.ts';
import { signature } from '../support/desks/signing.ts';
import { startRig } from '../support/rig.ts';

test('a message whose trigger told no id is read again before its turn, and answered once however often the trigger fires', async () => {
  const { desk, trigger, rig } = await open();
  const ticket = desk.openTicket();
  desk.say(ticket, 'Where is my parcel?');

  await trigger(ticket, 'Where is my parcel?');
  await desk.when(() => desk.replies(ticket).length > 0);
  await trigger(ticket, 'Where is my parcel?', { status: 'Pending' });
  await ended(rig, ticket, 2);

  expect(desk.replies(ticket).map(({ text }) => text)).toEqual(['Re: Where is my parcel?']);
  const turns = await rig.records.turnsOf(`desk/${ticket}`);
  expect(turns.map(({ outcome, reason }) => `${outcome}/${reason}`).toSorted()).toEqual([
    ...['completed/no_reply_needed', 'completed/replied'],
  ]);
});

test('a message that a sweep had found before its trigger came is not answered a second time', async () => {
  const { desk, trigger, rig, sweep, source } = await open();
  const ticket = desk.openTicket();
  desk.say(ticket, 'Hello');
  await sweep.run(source, { since: Date.now() - 3_600_000 });
  await desk.when(() => desk.replies(ticket).length > 0);

  await trigger(ticket, 'Hello');
  await ended(rig, ticket, 2);

  expect(desk.replies(ticket)).toHaveLength(1);
});

test('a message that its trigger brought is not found a second time by a sweep', async () => {
  const { desk, trigger, rig, sweep, source } = await open();
  const ticket = desk.openTicket();
  desk.say(ticket, 'Hello');
  await trigger(ticket, 'Hello');
  await desk.when(() => desk.replies(ticket).length > 0);

  const swept = await sweep.run(source, { since: Date.now() - 3_600_000 });

  expect(swept).toMatchObject({ found: 0, takeovers: 0 });
  await ended(rig, ticket, 1);
  expect(desk.replies(ticket)).toHaveLength(1);
});

test('[P13] a trigger that fired on what one of the staff wrote starts no answer', async () => {
  const { desk, trigger, rig } = await open();
  const ticket = desk.openTicket();
  desk.sayAsHuman(ticket, 'I have refunded it.');

  // The trigger names the customer as the one who acts.
  await trigger(ticket, 'I have refunded it.');
  await ended(rig, ticket, 1);

  expect(desk.replies(ticket)).toEqual([]);
});

test('[P1] what cannot be read again is answered as it came', { timeout: 60_000 }, async () => {
  const { desk, trigger } = await open();
  const ticket = desk.openTicket();
  desk.say(ticket, 'Hello');
  desk.fail({ how: 'status', status: 429 }, { on: 'read', times: 3 });

  await trigger(ticket, 'Hello');
  await desk.when(() => desk.replies(ticket).length > 0);

  expect(desk.replies(ticket).map(({ text }) => text)).toEqual(['Re: Hello']);
});

test('[P11] only who holds the conversation fills a message in, and a repeat of it answers as the first time did', async () => {
  const { rig } = await open({ host: false });
  const { store } = rig;
  const { conversationId } = await rig.accept({
    ...{ source: 'desk', conversationId: '7', messageId: 'body-1', text: 'Hi' },
    requester: { id: 'ana', assurance: 'claimed' },
    missing: ['messageId'],
  });
  const first = await store.claimTurn(conversationId, { jobId: '1', workerId: 'a' });
  if (first.kind !== 'claimed') throw new Error(first.kind);
  const [message] = first.turn.messages;
  if (message === undefined) throw new Error('no message');
  const { missing: _missing, ...rest } = message;
  const whole = { ...rest, messageId: '904' };

  expect(await store.resolveMessage(first.turn.claim, 0, whole)).toBe('resolved');
  expect(await store.resolveMessage(first.turn.claim, 0, whole)).toBe('resolved');
  const second = await store.claimTurn(conversationId, { jobId: '1', workerId: 'b' });
  if (second.kind !== 'claimed') throw new Error(second.kind);
  expect(second.turn.messages).toEqual([whole]);
  await expect(store.resolveMessage(first.turn.claim, 0, whole)).rejects.toThrow(LostClaimError);
});

/** A Zendesk whose triggers call us: they name neither the comment nor, sometimes, its author. */
async function open({ host = true }: { host?: boolean } = {}) {
  const desk = await startDeskFake('zendesk');
  onTestFinished(() => desk.close());
  const { secret, ownAuthors } = desk;
  const rig = await startRig({
    model: scriptedModel((view) => ({
      kind: 'finish_candidate',
      reply: `Re: ${view.messages[0]?.text ?? ''}`,
    })),
    target: desk.target(),
    sources: [
      { name: 'desk', type: 'zendesk', secrets: [secret], ownAuthors, api: httpApi(desk.api()) },
    ],
  });
  const { store, queues, records, agent } = rig;
  const [source] = agent.sources;
  if (source === undefined) throw new Error('no source');
  const operator = new Operator({ store, queues, records });
  const posted = (conversationId: string) => records.posted(conversationId);
  const api = await startApi({
    ...{ store, queues, operator, sources: agent.sources },
    webhooks: { posted, changed: () => Promise.resolve() },
  });
  onTestFinished(() => api.close());
  if (host) await rig.startHost();
  const sweep = new Sweep({ store, queues, operator, posted });
  const trigger = async (ticket: string, text: string, more: object = {}): Promise<void> => {
    const response = await fire(desk, `${api.url}/v1/webhooks/desk`, ticket, text, more);
    expect(response.status).toBe(200);
  };
  return { desk, rig, trigger, sweep, source };
}

function fire(desk: DeskFake, url: string, ticket: string, text: string, more: object) {
  const body = JSON.stringify({
    ...{ ticket_id: ticket, subject: 'My order', via: 'Mail' },
    current_user: { id: '9013371', email: 'customer.one@example.com', role: 'End user' },
    ...{ latest_comment: text, latest_comment_html: '', latest_comment_is_public: 'true' },
    ...more,
  });
  const at = new Date().toISOString();
  return fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'x-zendesk-webhook-signature-timestamp': at,
      'x-zendesk-webhook-signature': signature('sha256', 'base64', at + body),
    },
    body,
  });
}

async function ended(
  { records }: Awaited<ReturnType<typeof startRig>>,
  ticket: string,
  count: number,
): Promise<void> {
  await expect
    .poll(
      async () => (await records.turnsOf(`desk/${ticket}`)).filter((one) => one.outcome).length,
      { timeout: 10_000 },
    )
    .toBe(count);
}
