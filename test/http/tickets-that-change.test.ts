import { expect, onTestFinished, test } from 'vitest';
import { startApi } from '../../src/http/index.ts';
import { scriptedModel } from '../../src/models/index.ts';
import { configureSource, type Source } from '../../src/producers/ingress/index.ts';
import { Operator } from '../../src/producers/operator.ts';
import { startDeskFake, type DeskFake } from '../support/desks/desk-fake.ts';
import { startRig } from '../support/rig.ts';

test('[P14] what nobody had begun to answer goes on under the ticket it was merged into, also when the event comes twice; nothing is answered twice', async () => {
  const { desk, into, thinking, answers, records } = await open();
  const [old, merged] = [desk.openTicket(), desk.openTicket()];
  into.set(old, merged);
  desk.say(merged, 'asked there');
  await desk.when(() => desk.replies(merged).length === 1);
  const gate = answers.hold();
  desk.say(old, 'begun');
  await thinking.once('begun');
  for (const text of ['waits', 'waits too']) {
    desk.say(old, text);
    await desk.hooks.settled();
  }

  desk.change(old, { life: 'merged' });
  desk.change(old, { life: 'merged' });
  await desk.hooks.settled();
  gate.open();
  await desk.when(() => desk.replies(merged).length >= 3);
  desk.change(old, { life: 'merged' });
  await desk.hooks.settled();
  await quiet(records, old, merged);

  expect(textsOf(desk, merged)).toEqual(['Re: asked there', 'Re: waits', 'Re: waits too']);
  expect(textsOf(desk, old)).toEqual([]);
  expect((await records.conversation(`desk/${old}`))?.holder.owner).toBe('human');
  expect((await records.conversation(`desk/${merged}`))?.holder.owner).toBe('agent');
  await desk.when(() => desk.notes(merged).length > 0);
  expect(desk.notes(merged).map(({ text }) => text)).toEqual([
    expect.stringMatching(new RegExp(`^Ticket ${old} went on as this one\\.`)),
  ]);
});

test('[P13] a ticket that was deleted is left to people: what waits in it ends without a model call and without a reply', async () => {
  const { desk, thinking, answers, records } = await open();
  const ticket = desk.openTicket();
  const gate = answers.hold();
  desk.say(ticket, 'begun');
  await thinking.once('begun');
  desk.say(ticket, 'waits');
  await desk.hooks.settled();

  desk.change(ticket, { life: 'deleted' });
  await desk.hooks.settled();
  gate.open();
  await quiet(records, ticket);

  expect(textsOf(desk, ticket)).toEqual([]);
  expect(thinking.asked).toEqual(['begun']);
  const turns = await records.turnsOf(`desk/${ticket}`, 10);
  expect(turns.map(({ outcome, reason }) => `${outcome}/${reason}`)).toEqual([
    ...['escalated/human_takeover', 'escalated/human_takeover'],
  ]);
});

test('a ticket that was solved and is reopened by its customer stays with the agent, and each message is answered once', async () => {
  const { desk, records } = await open();
  const ticket = desk.openTicket();
  desk.say(ticket, 'first');
  await desk.when(() => desk.replies(ticket).length === 1);
  desk.change(ticket, { life: 'resolved' });
  await desk.hooks.settled();
  desk.say(ticket, 'second');
  await desk.when(() => desk.replies(ticket).length === 2);
  await desk.hooks.settled();
  await quiet(records, ticket);

  expect(textsOf(desk, ticket)).toEqual(['Re: first', 'Re: second']);
  expect((await records.conversation(`desk/${ticket}`))?.holder.owner).toBe('agent');
});

test('thanks for a solved ticket get no public answer: nothing is written to it, and it is the agent’s for what comes next', async () => {
  const { desk, records } = await open();
  const ticket = desk.openTicket();
  desk.say(ticket, 'first');
  await desk.when(() => desk.replies(ticket).length === 1);
  desk.change(ticket, { life: 'resolved' });
  desk.say(ticket, 'ok thanks');
  await desk.hooks.settled();
  await quiet(records, ticket);
  const [thanks] = await records.turnsOf(`desk/${ticket}`, 1);
  desk.say(ticket, 'second');
  await desk.when(() => desk.replies(ticket).length === 2);

  expect([thanks?.outcome, thanks?.reason]).toEqual(['completed', 'no_reply_needed']);
  expect(textsOf(desk, ticket)).toEqual(['Re: first', 'Re: second']);
  expect(desk.notes(ticket)).toEqual([]);
});

/** A desk, the HTTP service its events go to, and a worker whose model can be held. */
async function open() {
  const desk = await startDeskFake('zendesk', { hooks: { duplicates: 1 } });
  onTestFinished(() => desk.close());
  const into = new Map<string, string>();
  const thinking = new Thinking();
  const answers = new Answers();
  const rig = await startRig({
    model: scriptedModel(async (view) => {
      const text = view.messages[0]?.text ?? '';
      thinking.begin(text);
      await answers.allowed();
      return text === 'ok thanks'
        ? { kind: 'finish_candidate', as: 'no_reply_needed', reply: '' }
        : { kind: 'finish_candidate', reply: `Re: ${text}` };
    }),
    target: desk.target(),
  });
  const { store, queues, records } = rig;
  const operator = new Operator({ store, queues, records });
  const api = await startApi({
    ...{ store, queues, operator, sources: [tellingWhere(desk, into)] },
    webhooks: {
      posted: (conversationId) => records.posted(conversationId),
      changed: (conversationId, change) => operator.ticketChanged(conversationId, change),
    },
  });
  onTestFinished(() => api.close());
  desk.hooks.options.url = `${api.url}/v1/webhooks/desk`;
  await rig.startHost();
  return { desk, into, thinking, answers, records };
}

/** A source whose events of a merge say where the ticket went on, as Zendesk's do. */
function tellingWhere(desk: DeskFake, into: ReadonlyMap<string, string>): Source {
  const { secret, ownAuthors } = desk;
  const source = configureSource({ name: 'desk', type: 'zendesk', secrets: [secret], ownAuthors });
  const { adapter } = source;
  return {
    ...source,
    adapter: {
      ...adapter,
      map(request, settings) {
        const body = JSON.parse(request.rawBody.toString()) as {
          detail: { id: string };
          event: object;
        };
        const event = { ...body.event, target_ticket_id: into.get(body.detail.id) };
        const rawBody = Buffer.from(JSON.stringify({ ...body, event }));
        return adapter.map({ ...request, rawBody }, settings);
      },
    },
  };
}

class Thinking {
  readonly asked: string[] = [];
  #waiting: { text: string; resolve: () => void }[] = [];

  begin(text: string): void {
    this.asked.push(text);
    for (const one of this.#waiting) if (one.text === text) one.resolve();
  }

  once(text: string): Promise<void> {
    if (this.asked.includes(text)) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push({ text, resolve }));
  }
}

class Answers {
  #gate: Promise<void> = Promise.resolve();

  hold(): { open: () => void } {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#gate = promise;
    return { open: resolve };
  }

  allowed(): Promise<void> {
    return this.#gate;
  }
}

function textsOf(desk: DeskFake, ticket: string): string[] {
  return desk.replies(ticket).map(({ text }) => text);
}

type RigRecords = Awaited<ReturnType<typeof startRig>>['records'];

/** Until nothing waits in the tickets and nothing is on its way to them. */
async function quiet(records: RigRecords, ...tickets: string[]): Promise<void> {
  await expect
    .poll(
      async () => {
        const all = await Promise.all(tickets.map((one) => records.conversation(`desk/${one}`)));
        return all.every((one) => one?.waiting === 0 && one.openTurn === null);
      },
      { timeout: 10_000 },
    )
    .toBe(true);
}
