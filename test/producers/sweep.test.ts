import { onTestFinished, expect, test, describe } from 'vitest';
import { configureSource, httpApi, type Source } from '../../src/producers/ingress/index.ts';
import { Operator } from '../../src/producers/operator.ts';
import { SweepTimer } from '../../src/producers/sweep-timer.ts';
import { Sweep, type SweepOptions } from '../../src/producers/sweep.ts';
import { Sweeps } from '../../src/store/sweeps.ts';
import { scriptedModel } from '../../src/models/index.ts';
import { startService } from '../http/service.ts';
import { DESK_KINDS, startDeskFake, type DeskKind } from '../support/desks/desk-fake.ts';
import { silent, startRig } from '../support/rig.ts';
import type { HookOptions } from '../support/desks/hooks.ts';

const HOUR_MS = 3_600_000;

describe.each(DESK_KINDS)('what %s has and never brought', (kind) => {
  test('[P1] messages whose events were lost during an outage are found, each once, in their order', async () => {
    const { desk, source, service, sweep } = await open(kind);
    const [one, other] = [desk.openTicket(), desk.openTicket()];
    desk.say(one, 'this one came');
    await desk.hooks.settled();
    desk.hooks.options.url = `${service.url}/v1/webhooks/nobody`;
    desk.say(one, 'lost first');
    desk.say(other, 'lost elsewhere');
    desk.say(one, 'lost second');
    await desk.hooks.settled();
    expect(await waiting(service, kind, one)).toEqual(['this one came']);

    const first = await sweep.run(source, { since: Date.now() - HOUR_MS });
    const again = await sweep.run(source, { since: Date.now() - HOUR_MS });

    expect(first).toMatchObject({ conversations: 2, found: 3, known: 1, takeovers: 0, bad: [] });
    expect(again).toMatchObject({ conversations: 2, found: 0, known: 4, takeovers: 0 });
    expect(await waiting(service, kind, one)).toEqual([
      ...['this one came', 'lost first', 'lost second'],
    ]);
    expect(await waiting(service, kind, other)).toEqual(['lost elsewhere']);
  });

  test('an event that comes after the sweep has found its message changes nothing', async () => {
    const { desk, source, service, sweep } = await open(kind);
    const ticket = desk.openTicket();
    desk.hooks.options.url = `${service.url}/v1/webhooks/nobody`;
    desk.say(ticket, 'late');
    await desk.hooks.settled();
    await sweep.run(source, { since: Date.now() - HOUR_MS });

    desk.hooks.options.url = `${service.url}/v1/webhooks/${kind}`;
    desk.hooks.redeliverLost();
    await desk.hooks.settled();

    expect(desk.hooks.log.at(-1)?.status).toBe(200);
    expect(await waiting(service, kind, ticket)).toEqual(['late']);
  });

  test('[P13] a public message of the staff that never arrived takes the conversation over; one that was given back since is left to the agent', async () => {
    const { desk, source, service, sweep, operator } = await open(kind);
    const ticket = desk.openTicket();
    desk.say(ticket, 'Hello');
    await desk.hooks.settled();
    desk.hooks.options.url = `${service.url}/v1/webhooks/nobody`;
    desk.sayAsHuman(ticket, 'I take care of this');
    desk.sayAsHuman(ticket, 'between us', false);
    await desk.hooks.settled();

    const first = await sweep.run(source, { since: Date.now() - HOUR_MS });
    expect(first).toMatchObject({ found: 0, takeovers: 1 });
    expect(await owner(service, kind, ticket)).toBe('human');

    await operator.release(`${kind}/${ticket}`, { by: 'ana', reason: 'done' });
    await sweep.run(source, { since: Date.now() - HOUR_MS });
    expect(await owner(service, kind, ticket)).toBe('agent');
  });

  test('[P13] what we posted ourselves is no message and no takeover, told by its id', async () => {
    const { desk, source, sweep, service, posted } = await open(kind);
    const ticket = desk.openTicket();
    desk.say(ticket, 'Hello');
    await desk.hooks.settled();
    delete desk.hooks.options.url;
    const sent = await desk
      .target()
      .send(
        { source: kind, externalId: ticket, kind: 'reply', text: 'Hi.', reference: 'x1' },
        Date.now() + 2_000,
      );
    posted.add(sent.kind === 'sent' ? sent.targetId : '');

    await sweep.run(source, { since: Date.now() - HOUR_MS });

    expect(await owner(service, kind, ticket)).toBe('agent');
    expect(await waiting(service, kind, ticket)).toEqual(['Hello']);
  });
});

test('a list of more than one page is read to its end', async () => {
  const { desk, source, sweep, service } = await open('chatwoot');
  delete desk.hooks.options.url;
  const tickets = Array.from({ length: 60 }, () => desk.openTicket());
  for (const ticket of tickets) desk.say(ticket, 'lost');
  const [long = ''] = tickets;
  for (let number = 2; number <= 50; number += 1) desk.say(long, `lost ${number}`);

  const swept = await sweep.run(source, { since: Date.now() - HOUR_MS });

  expect(swept).toMatchObject({ conversations: 60, found: 109 });
  expect(await waiting(service, 'chatwoot', long)).toHaveLength(50);
});

test('without a time it goes on where the last look began; the first one leaves alone what was there before us', async () => {
  const { desk, source, sweep, service } = await open('zammad', { overlapMs: 0 });
  delete desk.hooks.options.url;
  const [before, after] = [desk.openTicket(), desk.openTicket()];
  const old = desk.say(before, 'answered by people long ago');
  backdate(desk.ticket(before), old, HOUR_MS);

  expect(await sweep.run(source)).toMatchObject({ found: 0 });
  desk.say(after, 'lost');
  expect(await sweep.run(source)).toMatchObject({ found: 1 });
  expect(await waiting(service, 'zammad', before)).toEqual([]);
});

test('a look that fails in the middle is taken up from the same time on, and nothing is doubled', async () => {
  const { desk, source, sweep, service } = await open('zammad');
  await sweep.run(source);
  delete desk.hooks.options.url;
  const tickets = [desk.openTicket(), desk.openTicket()];
  for (const ticket of tickets) desk.say(ticket, 'lost');
  const reached = await new Sweeps(service.store).since('zammad');
  let calls = 0;
  const broken: Source = {
    ...source,
    api: {
      get: async (path) => {
        calls += 1;
        if (calls > 2) desk.fail({ how: 'status', status: 429 });
        return source.api?.get(path);
      },
    },
  };

  await expect(sweep.run(broken)).rejects.toThrow(/answered 429/);
  expect(await new Sweeps(service.store).since('zammad')).toBe(reached);
  expect(await sweep.run(source)).toMatchObject({ found: 1, known: 1 });
  for (const ticket of tickets) expect(await waiting(service, 'zammad', ticket)).toEqual(['lost']);
});

test('a look that began after the last one leaves the time of the last one, so that no gap is left behind it', async () => {
  const { source, sweep, service } = await open('zammad', { overlapMs: 0 });
  const sweeps = new Sweeps(service.store);
  await sweeps.reached('zammad', Date.now() - 2 * HOUR_MS);

  await sweep.run(source, { since: Date.now() - HOUR_MS });
  expect(await sweeps.since('zammad')).toBeLessThan(Date.now() - HOUR_MS);
  await sweep.run(source);
  expect(await sweeps.since('zammad')).toBeGreaterThan(Date.now() - HOUR_MS);
});

test('messages older than the ids we remember are not taken in, however far back somebody looks', async () => {
  const { desk, source, sweep, service } = await open('zammad', { claimsMs: 3 * HOUR_MS });
  delete desk.hooks.options.url;
  const ticket = desk.openTicket();
  const old = desk.say(ticket, 'too old to tell');
  backdate(desk.ticket(ticket), old, 4 * HOUR_MS);
  desk.say(ticket, 'young enough');

  const swept = await sweep.run(source, { since: Date.now() - 24 * HOUR_MS });

  expect(swept).toMatchObject({ found: 1, known: 0 });
  expect(await waiting(service, 'zammad', ticket)).toEqual(['young enough']);
});

test('the timer of one process looks; those of the others find that somebody has', async () => {
  const { desk, source, sweep } = await open('zammad');
  const timers = [1, 2, 3].map(
    () => new SweepTimer({ sweep, sources: [source], logger: silent, everyMs: 60_000 }),
  );
  for (const timer of timers) await timer.stop();

  expect(desk.calls.filter(({ path }) => path.endsWith('/tickets/search'))).toHaveLength(1);
});

test('[P1] a message whose event was lost gets its turn and its reply', async () => {
  const desk = await startDeskFake('chatwoot');
  onTestFinished(() => desk.close());
  const { store, queues, records, startHost } = await startRig({
    model: scriptedModel((view) => ({
      kind: 'finish_candidate',
      reply: `About: ${view.messages[0]?.text ?? ''}`,
    })),
    target: desk.target(),
  });
  await startHost();
  const ticket = desk.openTicket();
  desk.say(ticket, 'my parcel');
  const sweep = new Sweep({
    ...{ store, queues, operator: new Operator({ store, queues, records }) },
    posted: (conversationId) => records.posted(conversationId),
  });

  await sweep.run(sourceFor(desk.kind, desk), { since: Date.now() - HOUR_MS });

  await desk.when(() => desk.replies(ticket).length > 0);
  expect(desk.replies(ticket).map(({ text }) => text)).toEqual(['About: my parcel']);
});

test('a source without an api cannot be looked through, and says what to do; nor can one nobody reads', async () => {
  const { sweep } = await open('zammad');
  const secrets = ['a-long-enough-secret'];
  const chat = configureSource({ name: 'chat', type: 'chatwoot', secrets });
  const gorgias = configureSource({ name: 'gorgias', type: 'gorgias', secrets });

  await expect(sweep.run(chat)).rejects.toThrow(/give it an `api`/);
  await expect(sweep.run(gorgias)).rejects.toThrow(/what can be looked through is one of/);
  expect(Sweep.blind([chat, gorgias]).map(({ name }) => name)).toEqual(['chat']);
});

async function open(kind: DeskKind, options: Partial<SweepOptions> & { hooks?: HookOptions } = {}) {
  const desk = await startDeskFake(kind, { hooks: { paceMs: 0, ...options.hooks } });
  onTestFinished(() => desk.close());
  const source = sourceFor(kind, desk);
  const service = await startService({ sources: [source] });
  desk.hooks.options.url = `${service.url}/v1/webhooks/${kind}`;
  const { store, queues, records } = service;
  const operator = new Operator({ store, queues, records });
  const posted = new Set<string>();
  const sweep = new Sweep({
    ...{ store, queues, operator },
    posted: () => Promise.resolve({ ids: posted, sending: false }),
    ...options,
  });
  return { desk, source, service, sweep, operator, posted };
}

function sourceFor(
  kind: DeskKind,
  desk: Pick<Awaited<ReturnType<typeof startDeskFake>>, 'secret' | 'ownAuthors' | 'api'>,
): Source {
  return configureSource({
    ...{ name: kind, type: kind, secrets: [desk.secret], ownAuthors: desk.ownAuthors },
    api: httpApi(desk.api()),
  });
}

type Service = Awaited<ReturnType<typeof startService>>;

async function waiting({ records }: Service, kind: string, ticket: string): Promise<string[]> {
  return (await records.notBegun(`${kind}/${ticket}`)).map(({ text }) => text);
}

async function owner({ records }: Service, kind: string, ticket: string) {
  return (await records.conversation(`${kind}/${ticket}`))?.holder.owner;
}

function backdate(
  ticket: { messages: { id: number; at: number }[] },
  messageId: string,
  byMs: number,
): void {
  const message = ticket.messages.find(({ id }) => String(id) === messageId);
  if (message !== undefined) message.at -= byMs;
}
