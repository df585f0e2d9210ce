import { randomUUID } from 'node:crypto';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { OutgoingMessage } from '../../src/contracts/index.ts';
import { zammadTarget, zendeskTarget } from '../../src/targets/index.ts';
import {
  DESK_KINDS,
  startDeskFake,
  type DeskFake,
  type DeskFakeOptions,
  type DeskKind,
} from '../support/desks/desk-fake.ts';
import type { Fault } from '../support/desks/api-server.ts';

/** Tokens and keys of the four; none may ever be seen outside a request. */
const SECRETS = /zendesk-api-token|zammad-api-token|chatwoot-api-token|intercom-access-token/;

const soon = () => Date.now() + 2_000;

async function openDesk(kind: DeskKind, options?: DeskFakeOptions) {
  const desk = await startDeskFake(kind, options);
  onTestFinished(() => desk.close());
  const externalId = desk.openTicket();
  desk.say(externalId, 'Where is my order?');
  const message = (overrides: Partial<OutgoingMessage> = {}): OutgoingMessage => ({
    source: kind,
    externalId,
    kind: 'reply',
    text: 'It left on Friday.',
    reference: `x${randomUUID()}`,
    ...overrides,
  });
  return { desk, externalId, target: desk.target(), message };
}

function writes(desk: DeskFake): number {
  return desk.calls.filter(({ effect }) => effect !== 'read').length;
}

describe.each(DESK_KINDS)('the way back to %s', (kind) => {
  test.each(['reply', 'holding', 'handover', 'note'] as const)(
    'a %s arrives where it belongs, once, and a re-read finds it under the id that was told',
    async (what) => {
      const { desk, externalId, target, message } = await openDesk(kind);
      const sending = message({ kind: what });

      const sent = await target.send(sending, soon());

      const here = what === 'note' ? desk.notes(externalId) : desk.replies(externalId);
      const there = what === 'note' ? desk.replies(externalId) : desk.notes(externalId);
      expect(here).toHaveLength(1);
      expect(here[0]?.text).toContain('It left on Friday.');
      expect(there).toEqual([]);
      expect(sent).toEqual({ kind: 'sent', targetId: here[0]?.id });
      expect(await target.find(sending)).toEqual({ kind: 'found', targetId: here[0]?.id });
      expect(await target.find(message())).toEqual({ kind: 'absent' });
    },
  );

  test.each<Fault>([
    { how: 'cut_after' },
    { how: 'cut_mid' },
    { how: 'status_after', status: 502 },
    { how: 'garbage' },
    { how: 'hang_after' },
  ])(
    '[P14] after an answer lost by $how the re-read finds the message, and none is sent again',
    async (fault) => {
      const { desk, externalId, target, message } = await openDesk(kind);
      desk.fail(fault, { on: 'write' });
      const sending = message();

      const sent = await target.send(sending, Date.now() + 300);
      const found = await target.find(sending);

      expect(sent.kind).toBe('unknown');
      const [reply] = desk.replies(externalId);
      expect(found).toEqual({ kind: 'found', targetId: reply?.id });
      // Also a caller that did not look first changes nothing.
      expect(await target.send(sending, soon())).toEqual({ kind: 'sent', targetId: reply?.id });
      expect(desk.replies(externalId)).toHaveLength(1);
    },
  );

  test.each<Fault>([{ how: 'cut' }, { how: 'status', status: 503 }, { how: 'hang' }])(
    'a message lost on its way by $how is absent on the re-read, and arrives at the next try',
    async (fault) => {
      const { desk, externalId, target, message } = await openDesk(kind);
      desk.fail(fault, { on: 'write' });
      const sending = message();

      expect((await target.send(sending, Date.now() + 300)).kind).toBe('unknown');
      expect(await target.find(sending)).toEqual({ kind: 'absent' });
      expect((await target.send(sending, soon())).kind).toBe('sent');
      expect(desk.replies(externalId)).toHaveLength(1);
    },
  );

  test.each([
    [422, { kind: 'refused', reason: 'http_422' }],
    [404, { kind: 'refused', reason: 'ticket_deleted' }],
    [302, { kind: 'refused', reason: 'redirected' }],
    [429, { kind: 'not_sent', reason: 'rate_limited' }],
    [401, { kind: 'not_sent', reason: 'unauthorized' }],
    [500, { kind: 'unknown', reason: 'http_500' }],
  ])('an answer of %i to the message means %o', async (status, meaning) => {
    const { desk, target, message } = await openDesk(kind);
    const headers = { location: `${desk.url}/elsewhere` };
    desk.fail({ how: 'status', status, headers }, { on: 'write' });

    expect(await target.send(message(), soon())).toEqual(meaning);
    expect(desk.calls.some(({ path }) => path === '/elsewhere')).toBe(false);
  });

  test.each<Fault>([
    { how: 'cut' },
    { how: 'cut_mid' },
    { how: 'garbage' },
    { how: 'status', status: 500 },
    { how: 'hang' },
  ])('a ticket that cannot be read because of $how gets nothing yet', async (fault) => {
    const { desk, target, message } = await openDesk(kind);
    desk.fail(fault, { on: 'read' });

    expect((await target.send(message(), Date.now() + 300)).kind).toBe('not_sent');
    expect(writes(desk)).toBe(0);
  });

  test('a re-read that fails says so, and does not say absent', async () => {
    const { desk, target, message } = await openDesk(kind);
    desk.fail({ how: 'status', status: 500 }, { on: 'read' });

    expect(await target.find(message())).toEqual({ kind: 'unreadable' });
  });

  test('a desk that does not listen got nothing', async () => {
    const { desk, target, message } = await openDesk(kind);
    await desk.close();

    expect(await target.send(message(), soon())).toEqual({
      kind: 'not_sent',
      reason: 'unreachable',
    });
    expect(await target.find(message())).toEqual({ kind: 'unreadable' });
  });

  test('after the deadline no call begins', async () => {
    const { desk, target, message } = await openDesk(kind);

    expect(await target.send(message(), Date.now())).toEqual({
      kind: 'not_sent',
      reason: 'deadline_passed',
    });
    expect(desk.calls).toEqual([]);
  });

  test('a re-read of the ticket that takes until the deadline leaves nothing to be sent', async () => {
    const { desk, target, message } = await openDesk(kind);
    desk.fail({ how: 'delay', ms: 400 }, { on: 'read' });
    const deadline = Date.now() + 200;

    expect((await target.send(message(), deadline)).kind).toBe('not_sent');
    expect(Date.now() - deadline).toBeLessThan(1_000);
    expect(writes(desk)).toBe(0);
  });

  test.each([
    ['resolved', 'ticket_closed'],
    ['deleted', 'ticket_deleted'],
  ] as const)('a ticket that was %s meanwhile gets no reply', async (life, reason) => {
    const { desk, externalId, target, message } = await openDesk(kind);
    desk.change(externalId, { life });

    for (const what of ['reply', 'holding', 'handover'] as const) {
      expect(await target.send(message({ kind: what }), soon())).toEqual({
        kind: 'refused',
        reason,
      });
    }
    expect(writes(desk)).toBe(0);
  });

  test('[P13] a ticket assigned to a person gets no reply of ours, but the note for that person', async () => {
    const { desk, externalId, target, message } = await openDesk(kind);
    desk.change(externalId, { assignee: 'human' });

    for (const what of ['reply', 'holding', 'handover'] as const) {
      expect(await target.send(message({ kind: what }), soon())).toEqual({
        kind: 'refused',
        reason: 'human_owner',
      });
    }
    expect((await target.send(message({ kind: 'note' }), soon())).kind).toBe('sent');
    expect(desk.replies(externalId)).toEqual([]);
    expect(desk.notes(externalId)).toHaveLength(1);
  });

  test('[P13] where a person had the last public word, ours stays unsent until the customer writes again', async () => {
    const { desk, externalId, target, message } = await openDesk(kind);
    desk.sayAsHuman(externalId, 'I have it.');

    const refused = await target.send(message(), soon());
    desk.sayAsHuman(externalId, 'Between us.', false);
    desk.say(externalId, 'Thanks, and my invoice?');

    expect(refused).toEqual({ kind: 'refused', reason: 'human_owner' });
    expect((await target.send(message(), soon())).kind).toBe('sent');
  });

  test('a ticket assigned to ourselves is ours', async () => {
    const { desk, externalId, target, message } = await openDesk(kind);
    desk.change(externalId, { assignee: 'us' });

    expect((await target.send(message(), soon())).kind).toBe('sent');
  });

  test.each(['../users/1', 'last', '81/..', ''])(
    'the conversation id "%s" names no ticket and reaches no path',
    async (externalId) => {
      const { desk, target, message } = await openDesk(kind);

      expect(await target.send(message({ externalId }), soon())).toEqual({
        kind: 'refused',
        reason: 'no_ticket',
      });
      expect(await target.find(message({ externalId }))).toEqual({ kind: 'absent' });
      expect(desk.calls).toEqual([]);
    },
  );

  test('[P16] no way it can end tells a secret or a text', async () => {
    const { desk, target, message } = await openDesk(kind);
    const ends: unknown[] = [target];
    for (const how of ['cut', 'garbage', 'cut_mid'] as const) {
      for (const on of ['read', 'write'] as const) {
        desk.fail({ how }, { on });
        ends.push(await target.send(message({ text: 'Private words' }), soon()));
      }
    }

    expect(JSON.stringify(ends)).not.toMatch(SECRETS);
    expect(JSON.stringify(ends)).not.toContain('Private words');
  });
});

describe('what one desk needs besides', () => {
  test('Zendesk takes a reply, its status and its tags in one step', async () => {
    const { desk, externalId, target, message } = await openDesk('zendesk');
    desk.change(externalId, { tags: ['vip'] });

    await target.send(message(), soon());
    const afterReply = desk.ticket(externalId).status;
    await target.send(message({ kind: 'handover' }), soon());

    expect(afterReply).toBe('pending');
    expect(desk.ticket(externalId)).toMatchObject({
      status: 'open',
      tags: ['vip', 'turnkeeper_handover'],
    });
    expect(writes(desk)).toBe(2);
  });

  test('Zendesk refuses the step when somebody was quicker, and the next try sees who', async () => {
    let quicker = (): void => {};
    const { desk, externalId, target, message } = await openDesk('zendesk', {
      faults: ({ effect }) => {
        if (effect === 'write') quicker();
        return undefined;
      },
    });
    quicker = () => desk.change(externalId, { assignee: 'human' });
    const sending = message();

    expect(await target.send(sending, soon())).toEqual({
      kind: 'not_sent',
      reason: 'ticket_changed',
    });
    expect(await target.send(sending, soon())).toEqual({ kind: 'refused', reason: 'human_owner' });
    expect(desk.replies(externalId)).toEqual([]);
  });

  test.each([
    ['closed', 'ticket_closed'],
    ['merged', 'ticket_merged'],
  ] as const)('a %s Zendesk ticket takes not even a note', async (life, reason) => {
    const { desk, externalId, target, message } = await openDesk('zendesk');
    desk.change(externalId, { life });

    for (const what of ['reply', 'note'] as const) {
      expect(await target.send(message({ kind: what }), soon())).toEqual({
        kind: 'refused',
        reason,
      });
    }
  });

  test('a merged Zammad ticket is told apart from a closed one', async () => {
    const { desk, externalId, target, message } = await openDesk('zammad');
    desk.change(externalId, { life: 'merged' });

    expect(await target.send(message(), soon())).toEqual({
      kind: 'refused',
      reason: 'ticket_merged',
    });
  });

  test.each([
    ['zendesk', 250],
    ['chatwoot', 70],
  ] as const)('%s is read page by page until the message is found', async (kind, newer) => {
    const { desk, externalId, target, message } = await openDesk(kind);
    desk.fail({ how: 'cut_after' }, { on: 'write' });
    const sending = message();
    await target.send(sending, soon());
    for (let count = 0; count < newer; count += 1) desk.say(externalId, `And ${count}?`);

    const [reply] = desk.replies(externalId);
    expect(await target.find(sending)).toEqual({ kind: 'found', targetId: reply?.id });
    expect(await target.find(message())).toEqual({ kind: 'absent' });
  });

  test.each(['zendesk', 'chatwoot'] as const)(
    'before a message is sent %s is read no further back than one page',
    async (kind) => {
      const { desk, externalId, target, message } = await openDesk(kind);
      for (let count = 0; count < 120; count += 1) desk.say(externalId, `And ${count}?`);

      await target.send(message(), soon());

      expect(desk.calls.map(({ effect }) => effect)).toEqual(['read', 'read', 'write']);
    },
  );

  test('Zammad mails a reply to the customer of the ticket, and a note to nobody', async () => {
    const { desk, externalId, target, message } = await openDesk('zammad');

    await target.send(message(), soon());
    await target.send(message({ kind: 'note' }), soon());

    const [reply, note] = desk.ticket(externalId).messages.slice(1);
    expect(reply?.extra).toMatchObject({
      type: 'email',
      internal: false,
      to: 'customer.one@example.com',
      in_reply_to: expect.stringContaining('@zammad.example.com>'),
    });
    expect(note?.extra).toMatchObject({ type: 'note', internal: true });
    expect(note?.extra['to']).toBeUndefined();
  });

  test('what a hand-over does to the ticket is done before it is announced, and again by a repeat', async () => {
    for (const kind of ['zammad', 'chatwoot'] as const) {
      const { desk, externalId, target, message } = await openDesk(kind);
      desk.change(externalId, { tags: ['vip'], status: kind === 'zammad' ? 'new' : 'pending' });
      desk.fail({ how: 'cut' }, { on: 'write' });
      const sending = message({ kind: 'handover' });

      await target.send(sending, soon());
      expect(desk.ticket(externalId).status).toBe('open');
      expect(await target.find(sending)).toEqual({ kind: 'absent' });
      expect((await target.send(sending, soon())).kind).toBe('sent');

      expect(desk.ticket(externalId).tags).toEqual(['vip', 'turnkeeper_handover']);
      expect(desk.replies(externalId)).toHaveLength(1);
    }
  });

  test('a hand-over whose status cannot be set is tried again as a whole', async () => {
    const { desk, externalId, target, message } = await openDesk('chatwoot');
    desk.fail({ how: 'cut_after' }, { on: 'change' });

    expect((await target.send(message({ kind: 'handover' }), soon())).kind).toBe('not_sent');
    expect(desk.replies(externalId)).toEqual([]);
  });

  test('a Chatwoot conversation that left pending was taken by a person', async () => {
    const { desk, externalId, target, message } = await openDesk('chatwoot');
    desk.change(externalId, { status: 'open' });

    expect(await target.send(message(), soon())).toEqual({
      kind: 'refused',
      reason: 'human_owner',
    });
  });

  test('a hand-over opens a snoozed Intercom conversation', async () => {
    const { desk, externalId, target, message } = await openDesk('intercom');
    desk.change(externalId, { status: 'snoozed' });

    expect((await target.send(message({ kind: 'handover' }), soon())).kind).toBe('sent');
    expect(desk.ticket(externalId).status).toBe('open');
  });

  test('an Intercom customer who quotes our reply did not write it', async () => {
    const { desk, externalId, target, message } = await openDesk('intercom');
    const sending = message();
    await target.send(sending, soon());
    const [reply] = desk.replies(externalId);

    const other = await openDesk('intercom');
    other.desk.say(other.externalId, `You wrote: ${reply?.reference}`);

    const asked = { ...sending, externalId: other.externalId };
    expect(await other.target.find(asked)).toEqual({ kind: 'absent' });
  });

  test.each(['zendesk', 'intercom'] as const)('nothing of a text is markup in %s', async (kind) => {
    const { desk, externalId, target, message } = await openDesk(kind);

    await target.send(message({ text: 'a < b & "c"\n<img src=x>' }), soon());

    expect(desk.replies(externalId)[0]?.text).toContain(
      'a &lt; b &amp; &quot;c&quot;<br>&lt;img src=x&gt;',
    );
  });
});

describe('options that cannot be used are refused at once', () => {
  const zendesk = { userId: 1, email: 'bot@example.com', apiToken: 'zendesk-api-token' };

  test.each([
    ['no URL', 'desk'],
    ['plain http', 'http://desk.example.com'],
    ['credentials in the URL', 'https://bot:hunter2@desk.example.com'],
  ])('%s', (_, url) => {
    expect(() => zendeskTarget({ ...zendesk, url })).toThrow(/^url is/);
    expect(() => zendeskTarget({ ...zendesk, url })).not.toThrow(/hunter2|zendesk-api-token/);
  });

  test('a mark that closes the ticket before the message is there', () => {
    const marks = { reply: { status: 'closed' } };
    const options = { url: 'https://desk.example.com', userId: 1, token: 't', marks };
    expect(() => zammadTarget(options)).toThrow('marks.reply.status is "closed"');
  });
});
