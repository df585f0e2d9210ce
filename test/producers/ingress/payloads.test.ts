import { expect, test } from 'vitest';
import { z } from 'zod';
import { ticketMessageSchema } from '../../../src/contracts/index.ts';
import { receive, type Mapped, type WebhookRequest } from '../../../src/producers/ingress/index.ts';
import { delivery, DELIVERIES, fixture, json, made, sourceOf } from './deliveries.ts';

async function mapped(file: string, change: Partial<WebhookRequest> = {}): Promise<Mapped> {
  const { request, source } = delivery(file);
  return source.adapter.map({ ...request, ...change }, source);
}

const CUSTOMER = 'customer.one@example.com';
const claimed = (id: string) => ({ id, assurance: 'claimed' });

const ACCEPTED: Readonly<Record<string, object>> = {
  'zendesk.trigger.customer-reply.json': {
    conversationId: '35436',
    messageId: expect.stringMatching(/^body-[0-9a-f]{64}$/),
    deliveryId: '01J000INVOCATION561C6759',
    text: 'Hi, it has been nine days. Where is my order?',
    requester: claimed(CUSTOMER),
    subject: 'Where is my order 10-48213?',
    channel: 'mail',
    missing: ['messageId'],
  },
  'zendesk.event.ticket_created.json': {
    conversationId: '35436',
    messageId: 'description',
    deliveryId: '01JQMQH83YNAKWSWJ8B1QH2AAA',
    text: 'Hi, I ordered on 23 Feb and have no parcel.',
    requester: claimed('9013371'),
    channel: 'email',
  },
  'zendesk.event.comment_added.customer.json': {
    conversationId: '35436',
    messageId: '8653087542654',
    deliveryId: '01JQMQH83YNAKWSWJ8B1QH2BBB',
    text: 'Hi, it has been nine days. Where is my order?',
    requester: claimed('9013371'),
  },
  'zendesk.event.messaging_message_added.json': {
    conversationId: '141',
    messageId: '67ab5f55155becd183e284cb',
    deliveryId: '01JQMQH83YNAKWSWJ8B1QH2NSC',
    text: 'Hi there, is my order on its way?',
    channel: 'messaging',
  },
  'freshdesk.simple.json': {
    conversationId: '4021',
    messageId: 'description',
    text: 'Hello, please refund my order.',
    original: '<div>Hello, please refund my order.</div>',
    requester: claimed(CUSTOMER),
    subject: 'Refund for order 10-48213',
  },
  'freshdesk.advanced.reply.json': {
    conversationId: '4021',
    messageId: expect.stringMatching(/^body-/),
    text: 'Any news?',
    requester: claimed(CUSTOMER),
    missing: ['messageId', 'author'],
  },
  'zammad.article.customer.json': {
    conversationId: '81',
    messageId: '104',
    deliveryId: '6a1f6d8e-0c0a-4d42-9a0e-9696ae272313',
    text: 'Any news?',
    quoted: '> On 3 March 2026 Example Store wrote:\n> We will look into it.',
    requester: claimed(CUSTOMER),
    channel: 'email',
  },
  'zammad.article.with-attachment.json': {
    conversationId: '81',
    messageId: '106',
    text: '[This message has no text, only attachments that are not shown here: image1.jpeg (image/jpeg)]',
    attachments: [{ name: 'image1.jpeg', type: 'image/jpeg', bytes: 35_574 }],
  },
  'chatwoot.message_created.incoming.json': {
    conversationId: '42',
    messageId: '100',
    deliveryId: '0f7c4b1e-6d55-4c2b-8a39-505b3ef4698c',
    text: 'Where is my order 10-48213?',
    requester: claimed(CUSTOMER),
    channel: 'Channel::WebWidget',
    language: 'en',
  },
  'intercom.conversation.user.created.json': {
    conversationId: '531',
    messageId: '403918356',
    deliveryId: 'notif_0a1b2c3d-0001',
    text: 'Where is my order 10-48213?',
    original: '<p>Where is my order 10-48213?</p>',
    requester: claimed(CUSTOMER),
  },
  'intercom.conversation.user.replied.json': {
    conversationId: '531',
    messageId: '3001',
    text: 'It has been nine days.',
    requester: claimed(CUSTOMER),
  },
  'jira.issue_created.json': {
    conversationId: '10002',
    messageId: 'description',
    deliveryId: 'jira-4ed5fd5644fa1182',
    text: 'Hi, I ordered on 23 Feb and have no parcel.',
    requester: claimed('qm:0f0f0f0f:aaaaaaaa-0000-4000-8000-000000000001'),
    subject: 'Where is my order 10-48213?',
  },
  'jira.comment_created.customer.json': {
    conversationId: '10002',
    messageId: '30001',
    text: 'It has been nine days.',
  },
  'github.issues.opened.json': {
    conversationId: '186853002#7',
    messageId: 'description',
    deliveryId: '72d3162e-cc78-11e3-81ab-7f867ea5a75b',
    text: 'Hi, I ordered on 23 Feb and have no parcel.',
    requester: { id: '31031067', assurance: 'verified' },
  },
  'github.issue_comment.created.json': {
    conversationId: '186853002#7',
    messageId: '492700400',
    text: 'It has been nine days.',
  },
  'front.app.inbound_received.json': {
    conversationId: 'cnv_55c8c149',
    messageId: 'msg_1q15qmtq',
    deliveryId: 'evt_55c8c149',
    text: 'It has been nine days.',
    requester: claimed(CUSTOMER),
    channel: 'email',
  },
  'front.rule.inbound.json': {
    conversationId: 'cnv_55c8c149',
    messageId: 'msg_1q15qmtq',
    deliveryId: 'evt_55c8c151',
    text: 'It has been nine days.',
    requester: claimed(CUSTOMER),
  },
  'helpscout.convo.customer.reply.created.json': {
    conversationId: '10',
    messageId: '801',
    deliveryId: expect.stringMatching(/^convo\.customer\.reply\.created-body-[0-9a-f]{64}$/),
    text: 'It has been nine days.',
    requester: claimed(CUSTOMER),
  },
  'gorgias.ticket-message-created.json': {
    conversationId: '68211294',
    messageId: '900001',
    deliveryId: '1897045193',
    text: 'It has been nine days.',
    requester: claimed(CUSTOMER),
  },
  'postmark.inbound.json': {
    conversationId: 't81',
    messageId: '<caf0001@mail.example.com>',
    deliveryId: '22c74902-a0c1-4511-804f-341342852c90',
    text: 'It has been nine days.',
    quoted: expect.stringContaining('> We will look into it.'),
    requester: claimed(CUSTOMER),
    attachments: [{ name: 'photo.jpg', type: 'image/jpeg', bytes: 10 }],
  },
  'sendgrid.inbound.fields.json': {
    conversationId: 't81',
    messageId: '<caf0001@mail.example.com>',
    text: 'It has been nine days.',
    quoted: expect.stringContaining('> We will look into it.'),
    requester: { id: CUSTOMER, assurance: 'verified' },
  },
  'mailgun.inbound.fields.json': {
    conversationId: 't81',
    messageId: '<caf0001@mail.example.com>',
    deliveryId: 'a8ce0edb2dd8301dee6c2405235584e45aa91d1e9f979f3de0',
    text: 'It has been nine days.',
    requester: claimed(CUSTOMER),
  },
};

test.each(Object.keys(ACCEPTED))('%s is one message of the customer', async (file) => {
  const { accept, ...rest } = await mapped(file);

  expect(accept).toEqual([expect.objectContaining(ACCEPTED[file] ?? {})]);
  expect(rest).toEqual({ changes: [], takeovers: [], ignored: [] });
  expect(ticketMessageSchema.safeParse(accept[0]).error).toBeUndefined();
  expect(accept[0]?.source).toBe(delivery(file).source.name);
});

const IGNORED: Readonly<Record<string, string>> = {
  'zendesk.event.comment_added.agent-echo.json': 'own_reply',
  'zammad.article.agent-echo.json': 'own_reply',
  'chatwoot.message_created.outgoing-echo.json': 'machine',
  'chatwoot.message_created.private-note.json': 'private_note',
  'intercom.conversation.admin.replied.echo.json': 'own_reply',
  'intercom.ping.json': 'ping',
  'jira.comment_created.app-echo.json': 'own_reply',
  'jira.comment_created.internal-note.json': 'private_note',
  'github.issue_comment.created.bot-echo.json': 'machine',
  'front.app.outbound_sent.echo.json': 'machine',
  'helpscout.convo.agent.reply.created.echo.json': 'own_reply',
  'gorgias.ticket-message-created.agent-echo.json': 'machine',
  'postmark.inbound.auto-reply.json': 'auto_reply',
};

test.each(Object.entries(IGNORED))('%s is left alone: %s', async (file, why) => {
  const { ignored, ...rest } = await mapped(file);

  expect(ignored).toEqual([expect.objectContaining({ why })]);
  expect(rest).toEqual({ changes: [], takeovers: [], accept: [] });
});

const CHANGED: Readonly<Record<string, object>> = {
  'zendesk.event.status_changed.json': { change: 'closed', conversationId: '35436' },
  'chatwoot.conversation_status_changed.json': { change: 'closed', conversationId: '42' },
  'helpscout.convo.merged.json': { change: 'merged', conversationId: '10' },
};

test.each(Object.entries(CHANGED))(
  '%s changes its conversation, and nothing else',
  async (file, change) => {
    expect(await mapped(file)).toEqual({
      changes: [change],
      takeovers: [],
      accept: [],
      ignored: [],
    });
  },
);

test('the challenge of Front is given back', async () => {
  const { challenge, accept } = await mapped('front.app.sync-challenge.json');

  expect(challenge).toBe('front-validation-challenge');
  expect(accept).toEqual([]);
});

test('of a batch of HubSpot only the messages are accepted, each under its own delivery id, to be read again', async () => {
  const { accept, ignored } = await mapped('hubspot.batch.json');

  expect(accept).toMatchObject([
    {
      conversationId: '9598272090',
      messageId: '3f1c0c7d4f4c4f2f9b9c1d2e3f405060',
      deliveryId: '12345678-9598272090-3f1c0c7d4f4c4f2f9b9c1d2e3f405060',
      requester: { assurance: 'none' },
      missing: ['text', 'author'],
    },
  ]);
  expect(ignored.map(({ why }) => why)).toEqual(['no_message', 'no_message', 'private_note']);
});

test('a batch with a hundred messages is a hundred messages with a hundred delivery ids', async () => {
  const [, , event] = z.array(z.record(z.string(), z.unknown())).parse(json('hubspot.batch.json'));
  const batch = Array.from({ length: 100 }, (_, at) => ({ ...event, messageId: `m${at}` }));
  const { accept } = await mapped('hubspot.batch.json', {
    rawBody: Buffer.from(JSON.stringify(batch)),
  });

  expect(new Set(accept.map(({ deliveryId }) => deliveryId)).size).toBe(100);
});

test('every recorded delivery has its place in this file', () => {
  const known = [...Object.keys(ACCEPTED), ...Object.keys(IGNORED), ...Object.keys(CHANGED)];

  expect(known.length + 2).toBe(DELIVERIES.length);
});

test('genuine text that is not JSON is a dead letter answered 200, and what is wrong is said without quoting it', async () => {
  const { adapter } = sourceOf('zendesk');
  const source = {
    ...sourceOf('zendesk'),
    adapter: { ...adapter, verify: () => ({ ok: true as const }) },
  };
  const reception = await receive(source, made(fixture('zendesk.trigger.broken-json.txt')));

  expect(reception).toEqual({ kind: 'unreadable', why: 'not JSON', answer: { status: 200 } });
});

test.each([
  '',
  '[]',
  '{}',
  'null',
  '7',
  '{"type":"zen:event-type:ticket.comment_added"}',
  '{"webhookEvent":1}',
])('genuine rubbish is a dead letter answered 200 for every system: %s', async (body) => {
  for (const file of DELIVERIES) {
    const { source } = delivery(file);
    const trusting = { ...source.adapter, verify: () => ({ ok: true as const }) };
    const reception = await receive({ ...source, adapter: trusting }, made(body));

    if (source.type === 'hubspot' && body === '[]') continue;
    expect(reception, `${source.type} ${body}`).toMatchObject({ answer: { status: 200 } });
    expect(reception.kind === 'mapped' ? reception.mapped.accept : []).toEqual([]);
  }
});

test('a refused delivery is not read at all', async () => {
  const { source } = delivery('zammad.article.customer.json');

  expect(await receive(source, made('{'))).toEqual({
    kind: 'refused',
    reason: 'missing_signature',
    answer: { status: 401 },
  });
});

test.each([
  ['zendesk.event.comment_added.agent-echo.json', '8447388090494'],
  ['zammad.article.agent-echo.json', '5'],
  ['intercom.conversation.admin.replied.echo.json', '274'],
])('the same public message is a takeover when the account is not ours: %s', async (file, by) => {
  const { request, source } = delivery(file);
  const others = { ...source, ownAuthors: ['somebody-else'] };
  const asAdmin = request.rawBody.toString().replace('"type":"bot"', '"type":"admin"');
  const { takeovers, accept } = await source.adapter.map(
    { ...request, rawBody: Buffer.from(asAdmin) },
    others,
  );

  expect(accept).toEqual([]);
  expect(takeovers).toMatchObject([{ by, text: 'Your parcel left our warehouse on 27 Feb.' }]);
});

test.each([
  ['chatwoot.message_created.outgoing-echo.json', '"type":"agent_bot"', '"type":"user"'],
  ['jira.comment_created.internal-note.json', '"jsdPublic":false', '"jsdPublic":true'],
  ['front.app.outbound_sent.echo.json', '{"type":"api"}', '{"type":"teammate"}'],
  ['gorgias.ticket-message-created.agent-echo.json', '"via":"api"', '"via":"helpdesk"'],
  ['github.issue_comment.created.json', '"id":31031067', '"id":99'],
])('a public message of one of the staff is a takeover: %s', async (file, machine, person) => {
  const { request, source } = delivery(file);
  let body = request.rawBody.toString().replaceAll(machine, person);
  if (file.startsWith('github')) {
    // The comment's author is no longer the one who opened the issue, and belongs to the house.
    body = body.replace(/"id":99/, '"id":31031067').replace(/(492700400.*?)"NONE"/s, '$1"MEMBER"');
  }
  const elsewhere = { ...source, ownAddresses: [] };
  const { takeovers, accept } = await source.adapter.map(
    { ...request, rawBody: Buffer.from(body) },
    elsewhere,
  );

  expect(accept).toEqual([]);
  expect(takeovers).toHaveLength(1);
});

/** A recorded payload, words of it exchanged, the header that names its event if it has one, and what it then is. */
const VARIANTS: readonly [string, Readonly<Record<string, string>>, string | undefined, object][] =
  [
    [
      'jira.issue_created.json',
      { 'jira:issue_created': 'jira:issue_updated', '"indeterminate"': '"done"' },
      undefined,
      { change: 'closed', conversationId: '10002' },
    ],
    [
      'jira.issue_created.json',
      { 'jira:issue_created': 'jira:issue_updated' },
      undefined,
      { why: 'no_message', conversationId: '10002' },
    ],
    [
      'jira.issue_created.json',
      { 'jira:issue_created': 'jira:issue_deleted' },
      undefined,
      { change: 'deleted', conversationId: '10002' },
    ],
    [
      'jira.comment_created.customer.json',
      { comment_created: 'comment_updated' },
      undefined,
      { why: 'edited', conversationId: '10002' },
    ],
    [
      'zendesk.event.status_changed.json',
      { '"current":"SOLVED"': '"current":"OPEN"', '"previous":"OPEN"': '"previous":"SOLVED"' },
      undefined,
      { change: 'reopened', conversationId: '35436' },
    ],
    [
      'zendesk.event.status_changed.json',
      { 'ticket.status_changed': 'ticket.merged' },
      undefined,
      { change: 'merged', conversationId: '35436' },
    ],
    [
      'zendesk.event.status_changed.json',
      {
        'ticket.status_changed': 'ticket.merged',
        '"current":"SOLVED"': '"target_ticket_id":"35400"',
      },
      undefined,
      { change: 'merged', conversationId: '35436', into: '35400' },
    ],
    [
      'zendesk.event.status_changed.json',
      { 'ticket.status_changed': 'ticket.soft_deleted' },
      undefined,
      { change: 'deleted', conversationId: '35436' },
    ],
    [
      'zendesk.event.status_changed.json',
      { 'ticket.status_changed': 'ticket.tags_changed' },
      undefined,
      { why: 'no_message', conversationId: '35436' },
    ],
    [
      'zendesk.event.messaging_message_added.json',
      { '"end_user"': '"trigger"' },
      undefined,
      { why: 'machine', conversationId: '141' },
    ],
    [
      'zendesk.trigger.customer-reply.json',
      { '"latest_comment_is_public":"true"': '"latest_comment_is_public":"false"' },
      undefined,
      { why: 'private_note', conversationId: '35436' },
    ],
    [
      'chatwoot.conversation_status_changed.json',
      { '"status":"resolved"': '"status":"open"' },
      undefined,
      { change: 'with_people', conversationId: '42' },
    ],
    [
      'chatwoot.conversation_status_changed.json',
      {
        '"status":"resolved"': '"status":"pending"',
        '"previous_value":"open"': '"previous_value":"resolved"',
      },
      undefined,
      { change: 'reopened', conversationId: '42' },
    ],
    [
      'chatwoot.message_created.incoming.json',
      { message_created: 'message_updated' },
      undefined,
      { why: 'edited' },
    ],
    [
      'intercom.conversation.admin.replied.echo.json',
      { 'admin.replied': 'admin.closed' },
      undefined,
      { change: 'closed', conversationId: '531' },
    ],
    [
      'intercom.conversation.admin.replied.echo.json',
      { 'admin.replied': 'admin.noted', '"comment"': '"note"' },
      undefined,
      { why: 'private_note', conversationId: '531' },
    ],
    [
      'intercom.conversation.user.replied.json',
      { '"from_ai_agent":false': '"from_ai_agent":true' },
      undefined,
      { why: 'machine', conversationId: '531' },
    ],
    [
      'front.rule.inbound.json',
      { '"type":"inbound"': '"type":"archive"' },
      undefined,
      { change: 'closed', conversationId: 'cnv_55c8c149' },
    ],
    [
      'front.rule.inbound.json',
      { '"type":"inbound"': '"type":"comment"' },
      undefined,
      { why: 'private_note', conversationId: 'cnv_55c8c149' },
    ],
    [
      'helpscout.convo.merged.json',
      {},
      'convo.deleted',
      { change: 'deleted', conversationId: '10' },
    ],
    [
      'helpscout.convo.merged.json',
      { '"status":"active"': '"status":"closed"' },
      'convo.status',
      { change: 'closed', conversationId: '10' },
    ],
    ['helpscout.convo.merged.json', {}, 'convo.tags', { why: 'no_message', conversationId: '10' }],
    [
      'helpscout.convo.agent.reply.created.echo.json',
      { '"type":"message"': '"type":"note"' },
      'convo.note.created',
      { why: 'private_note', conversationId: '10' },
    ],
    [
      'gorgias.ticket-message-created.json',
      { 'ticket-message-created': 'ticket-closed' },
      undefined,
      { change: 'closed', conversationId: '68211294' },
    ],
    [
      'gorgias.ticket-message-created.json',
      { '"public":true': '"public":false' },
      undefined,
      { why: 'private_note', conversationId: '68211294' },
    ],
    [
      'freshdesk.simple.json',
      { '{ticket_action:created}': '{status:resolved}' },
      undefined,
      { why: 'no_message', conversationId: '4021' },
    ],
    [
      'zammad.article.customer.json',
      { '"internal":false': '"internal":true' },
      undefined,
      { why: 'private_note', conversationId: '81' },
    ],
    [
      'zammad.article.customer.json',
      { '"sender":"Customer"': '"sender":"System"' },
      undefined,
      { why: 'machine', conversationId: '81' },
    ],
  ];

test.each(VARIANTS)(
  '%s with %j and event %s is no message',
  async (file, words, event, expected) => {
    const { request } = delivery(file);
    const rawBody = Object.entries(words).reduce((body, [from, to]) => {
      expect(body).toContain(from);
      return body.replaceAll(from, to);
    }, request.rawBody.toString());
    const headers =
      event === undefined ? request.headers : { ...request.headers, 'x-helpscout-event': event };
    const { accept, takeovers, changes, ignored } = await mapped(file, {
      headers,
      rawBody: Buffer.from(rawBody),
    });

    expect([accept, takeovers]).toEqual([[], []]);
    expect([...changes, ...ignored]).toEqual([expected]);
  },
);

test('what was merged or transferred goes on where its system says', async () => {
  const front = (data?: unknown[]) => {
    const body = json('front.app.inbound_received.json') as { payload: object };
    const target = { _meta: { type: 'deleted_conversation_ids' }, data };
    const payload = { ...body.payload, type: 'conversations_merged', target };
    return mapped('front.app.inbound_received.json', {
      rawBody: Buffer.from(JSON.stringify({ type: 'conversations_merged', payload })),
    });
  };
  const fromFront = await front(['cnv_1', { id: 'cnv_2' }]);
  const lineItem = {
    id: 7,
    type: 'lineitem',
    action: { type: 'merged', associatedEntities: { originalConversation: 9 } },
  };
  const body = json('helpscout.convo.merged.json') as object;
  const fromHelpScout = await mapped('helpscout.convo.merged.json', {
    rawBody: Buffer.from(
      JSON.stringify({ ...body, _embedded: { threads: [lineItem, { ...lineItem, id: 8 }] } }),
    ),
  });
  const issue = json('github.issues.opened.json') as object;
  const changes = { new_issue: { number: 3 }, new_repository: { id: 55 } };
  const fromGitHub = await mapped('github.issues.opened.json', {
    rawBody: Buffer.from(JSON.stringify({ ...issue, action: 'transferred', changes })),
  });

  expect((await front()).ignored).toEqual([{ why: 'no_message', conversationId: 'cnv_55c8c149' }]);
  expect(fromFront.changes).toEqual([
    { change: 'merged', conversationId: 'cnv_1', into: 'cnv_55c8c149' },
    { change: 'merged', conversationId: 'cnv_2', into: 'cnv_55c8c149' },
  ]);
  expect(fromHelpScout.changes).toEqual([{ change: 'merged', conversationId: '9', into: '10' }]);
  expect(fromGitHub.changes).toEqual([
    { change: 'merged', conversationId: '186853002#7', into: '55#3' },
  ]);
  for (const { accept, takeovers, ignored } of [fromFront, fromHelpScout, fromGitHub]) {
    expect([accept, takeovers, ignored]).toEqual([[], [], []]);
  }
});

test('a ticket Zammad has merged is one, not the note a merge leaves in it; what its customer writes there is kept', async () => {
  const merge = (file: string) =>
    mapped(file, {
      rawBody: Buffer.from(fixture(file).toString().replace('"state":"open"', '"state":"merged"')),
    });
  const change = { change: 'merged', conversationId: '81' };
  const note = await merge('zammad.article.agent-echo.json');
  const written = await merge('zammad.article.customer.json');

  expect(note).toEqual({ changes: [change], takeovers: [], accept: [], ignored: [] });
  expect([written.changes, written.accept.length]).toEqual([[change], 1]);
});

test('one act that Zendesk tells as "created" and as "comment added" is one delivery', async () => {
  const created = await mapped('zendesk.event.ticket_created.json');
  const body = fixture('zendesk.event.comment_added.customer.json').toString();
  const commented = await mapped('zendesk.event.comment_added.customer.json', {
    rawBody: Buffer.from(body.replace('QH2BBB', 'QH2AAA')),
  });

  expect(commented.accept[0]?.deliveryId).toBe(created.accept[0]?.deliveryId);
});

test('a conversation that is open in Chatwoot is with people, and its message is accepted behind that', async () => {
  const body = fixture('chatwoot.message_created.incoming.json').toString();
  const { changes, accept } = await mapped('chatwoot.message_created.incoming.json', {
    rawBody: Buffer.from(body.replace('"status":"pending"', '"status":"open"')),
  });

  expect(changes).toEqual([{ change: 'with_people', conversationId: '42' }]);
  expect(accept).toHaveLength(1);
});

test('who writes on a channel where people sign in is verified, and so is an identity Chatwoot has checked', async () => {
  const { request, source } = delivery('zendesk.event.comment_added.customer.json');
  const trusting = { ...source, signedInChannels: ['email'] };
  const signedIn = await source.adapter.map(request, trusting);
  const body = fixture('chatwoot.message_created.incoming.json').toString();
  const checked = await mapped('chatwoot.message_created.incoming.json', {
    rawBody: Buffer.from(body.replaceAll('"hmac_verified":false', '"hmac_verified":true')),
  });

  expect(signedIn.accept[0]?.requester.assurance).toBe('verified');
  expect(checked.accept[0]?.requester.assurance).toBe('verified');
});

test('an issue of GitHub without a body is a message that says so; pull requests, edits and pings are none', async () => {
  const body = fixture('github.issues.opened.json').toString();
  const open = (change: (body: string) => string, event = 'issues') => {
    const { request } = delivery('github.issues.opened.json');
    const headers = { ...request.headers, 'x-github-event': event };
    return mapped('github.issues.opened.json', { headers, rawBody: Buffer.from(change(body)) });
  };
  const empty = await open((text) => text.replace(/"body":"[^"]*"/, '"body":null'));
  const pull = await open((text) => text.replace('"labels":[]', '"pull_request":{}'));
  const edited = await open((text) => text.replace('"opened"', '"edited"'));
  const closed = await open((text) => text.replace('"opened"', '"closed"'));
  const ping = await open(() => '{"zen":"x"}', 'ping');

  expect(empty.accept[0]?.text).toBe('[This message has no text.]');
  expect(pull.ignored[0]?.why).toBe('no_message');
  expect(edited.ignored[0]?.why).toBe('edited');
  expect(closed.changes[0]?.change).toBe('closed');
  expect(ping.ignored[0]?.why).toBe('ping');
});

test('a description of Jira that is a document becomes its text', async () => {
  const document = {
    type: 'doc',
    content: [
      {
        type: 'paragraph',
        content: [
          { type: 'text', text: 'Where is' },
          { type: 'hardBreak' },
          { type: 'text', text: 'my order?' },
        ],
      },
      {
        type: 'bulletList',
        content: [
          {
            type: 'listItem',
            content: [{ type: 'paragraph', content: [{ type: 'text', text: '10-48213' }] }],
          },
        ],
      },
    ],
  };
  const body = fixture('jira.issue_created.json').toString();
  const { accept } = await mapped('jira.issue_created.json', {
    rawBody: Buffer.from(
      body.replace('"Hi, I ordered on 23 Feb and have no parcel."', JSON.stringify(document)),
    ),
  });

  expect(accept[0]?.text).toBe('Where is\nmy order?\n10-48213');
});
