import { expect, onTestFinished, test } from 'vitest';
import { startApi } from '../../src/http/index.ts';
import { scriptedModel } from '../../src/models/index.ts';
import { configureSource } from '../../src/producers/ingress/index.ts';
import { Operator } from '../../src/producers/operator.ts';
import { DESK_KINDS, startDeskFake, type DeskKind } from '../support/desks/desk-fake.ts';
import { startRig } from '../support/rig.ts';

const ENOUGH = 3;

test.each(DESK_KINDS)(
  'a customer of %s who is a machine that nothing marks as one gets so many replies a day, one text that people take over, and then silence',
  { timeout: 60_000 },
  async (kind) => {
    const { desk, records, asked } = await open(kind);
    const ticket = desk.openTicket();
    desk.say(ticket, 'beep 0');
    for (let count = 1; count <= ENOUGH + 1; count += 1) {
      await desk.when(() => desk.replies(ticket).length >= count);
      desk.say(ticket, `beep ${count}`);
    }
    await desk.hooks.settled();
    await expect
      .poll(async () => (await records.conversation(`desk/${ticket}`))?.waiting, {
        timeout: 10_000,
      })
      .toBe(0);

    const texts = desk.replies(ticket).map(({ text }) => text);
    expect(texts).toHaveLength(ENOUGH + 1);
    expect(texts.at(-1)).toContain('A colleague is taking over');
    expect(asked()).toBe(ENOUGH);
    const turns = await records.turnsOf(`desk/${ticket}`);
    expect(turns.map(({ outcome, reason }) => `${outcome}/${reason}`).toReversed()).toEqual([
      ...Array.from({ length: ENOUGH }, () => 'completed/replied'),
      ...['budget_exhausted/max_replies', 'escalated/human_takeover'],
    ]);
  },
);

async function open(kind: DeskKind) {
  const desk = await startDeskFake(kind);
  onTestFinished(() => desk.close());
  let asked = 0;
  const rig = await startRig({
    model: scriptedModel(() => {
      asked += 1;
      return { kind: 'finish_candidate', reply: `boop ${asked}` };
    }),
    caps: { day: { replies: ENOUGH } },
    target: desk.target(),
  });
  const { store, queues, records } = rig;
  const { secret, ownAuthors } = desk;
  const operator = new Operator({ store, queues, records });
  const api = await startApi({
    ...{ store, queues, operator },
    sources: [configureSource({ name: 'desk', type: kind, secrets: [secret], ownAuthors })],
    webhooks: {
      posted: (conversationId) => records.posted(conversationId),
      changed: (conversationId, change) => operator.ticketChanged(conversationId, change),
    },
  });
  onTestFinished(() => api.close());
  desk.hooks.options.url = `${api.url}/v1/webhooks/desk`;
  await rig.startHost();
  return { desk, records, asked: () => asked };
}
