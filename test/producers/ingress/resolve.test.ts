import { expect, test } from 'vitest';
import type { TicketMessage } from '../../../src/contracts/index.ts';
import { resolveMessage } from '../../../src/producers/ingress/index.ts';
import { delivery, sourceOf } from './deliveries.ts';

/** The API of a system, answering one path. */
function api(answer: unknown) {
  const paths: string[] = [];
  return {
    paths,
    get: (path: string) => {
      paths.push(path);
      return Promise.resolve(answer);
    },
  };
}

async function messageIn(file: string): Promise<TicketMessage> {
  const { request, source } = delivery(file);
  const [message] = (await source.adapter.map(request, source)).accept;
  if (message === undefined) throw new Error(`no message in ${file}`);
  return message;
}

test('a message of a Zendesk trigger gets its real id: the last comment of the customer that says the same', async () => {
  const message = await messageIn('zendesk.trigger.customer-reply.json');
  const comment = (id: number, author: number, text: string, isPublic = true) => ({
    ...{ id, author_id: author, plain_body: text, html_body: `<p>${text}</p>` },
    ...{ public: isPublic, attachments: [] },
  });
  const http = api({
    comments: [
      comment(904, 9_013_371, 'Hi, it has been  nine days. Where is my order?'),
      comment(903, 8_447_388_090_494, 'We will look into it.'),
      comment(902, 77, 'Customer is angry', false),
      comment(901, 9_013_371, 'Hi, it has been nine days. Where is my order?'),
    ],
    users: [
      { id: 9_013_371, role: 'end-user', email: 'customer.one@example.com' },
      { id: 8_447_388_090_494, role: 'agent', email: 'bot@support.example.com' },
      { id: 77, role: 'agent', email: null },
    ],
  });

  const resolved = await resolveMessage(sourceOf('zendesk'), message, http);

  expect(http.paths).toEqual([
    '/api/v2/tickets/35436/comments.json?include=users&sort=-created_at',
  ]);
  expect(resolved).toMatchObject({
    kind: 'found',
    message: {
      messageId: '904',
      deliveryId: message.deliveryId,
      subject: message.subject,
      requester: { id: 'customer.one@example.com', assurance: 'claimed' },
    },
    seen: { takeovers: [], ignored: [{ why: 'own_reply' }, { why: 'private_note' }] },
  });
  expect(resolved).not.toHaveProperty('message.missing');
});

test('a message of HubSpot gets its text and who wrote it', async () => {
  const message = await messageIn('hubspot.batch.json');
  const http = api({
    id: message.messageId,
    type: 'MESSAGE',
    direction: 'INCOMING',
    text: 'Where is my order?',
    richText: null,
    senders: [
      {
        actorId: 'V-1',
        deliveryIdentifier: { type: 'HS_EMAIL_ADDRESS', value: 'Ana@example.com' },
      },
    ],
  });

  expect(await resolveMessage(sourceOf('hubspot'), message, http)).toMatchObject({
    kind: 'found',
    message: {
      text: 'Where is my order?',
      requester: { id: 'ana@example.com', assurance: 'claimed' },
    },
  });
  expect(http.paths[0]).toBe(
    `/conversations/v3/conversations/threads/9598272090/messages/${message.messageId}`,
  );
});

test('a message of HubSpot that turns out to be a reply of a person is no message to answer, but a takeover', async () => {
  const message = await messageIn('hubspot.batch.json');
  const http = api({
    id: message.messageId,
    type: 'MESSAGE',
    direction: 'OUTGOING',
    text: 'I am on it.',
    senders: [{ actorId: 'A-77' }],
  });

  expect(await resolveMessage(sourceOf('hubspot'), message, http)).toMatchObject({
    kind: 'someone_else',
    seen: { takeovers: [{ by: 'A-77', text: 'I am on it.' }] },
  });
});

test('a reply in Freshdesk gets its real id; notes and replies of agents are told apart', async () => {
  const message = await messageIn('freshdesk.advanced.reply.json');
  const entry = { attachments: [], private: false, incoming: true, user_id: 5 };
  const http = api([
    { ...entry, id: 1, body: '<div>Any news?</div>', body_text: 'Any news?' },
    { ...entry, id: 2, body_text: 'Soon.', incoming: false, user_id: 9 },
    { ...entry, id: 3, body_text: 'Any news?', private: true, incoming: false, user_id: 9 },
    { ...entry, id: 4, body_text: 'Any news? ' },
  ]);

  expect(await resolveMessage(sourceOf('freshdesk'), message, http)).toMatchObject({
    kind: 'found',
    message: { messageId: '4' },
    seen: { accept: [{}, {}], takeovers: [{ by: '9' }], ignored: [{ why: 'private_note' }] },
  });
});

test('a rule of Freshdesk that fired on a reply of ours starts nothing; text nobody finds again is answered as it came', async () => {
  const message = await messageIn('freshdesk.advanced.reply.json');
  const entry = { id: 2, private: false, incoming: false, user_id: 1 };

  expect(
    await resolveMessage(
      sourceOf('freshdesk'),
      message,
      api([{ ...entry, body_text: 'Any news?' }]),
    ),
  ).toMatchObject({ kind: 'someone_else' });
  expect(
    await resolveMessage(sourceOf('freshdesk'), message, api([{ ...entry, body_text: 'Hello' }])),
  ).toMatchObject({ kind: 'not_found' });
});

test('a Help Scout payload without threads gets the last thread of the customer', async () => {
  const { request, source } = delivery('helpscout.convo.customer.reply.created.json');
  const body = JSON.parse(request.rawBody.toString()) as Record<string, unknown>;
  const bare = Buffer.from(JSON.stringify({ ...body, _embedded: { threads: [] } }));
  const [message] = (await source.adapter.map({ ...request, rawBody: bare }, source)).accept;
  expect(message).toMatchObject({ missing: ['messageId', 'text', 'author'] });
  if (message === undefined) return;
  const thread = {
    state: 'published',
    body: 'x',
    createdBy: { id: 256, type: 'customer', email: null },
  };
  const http = api({
    _embedded: {
      threads: [
        { ...thread, id: 803, type: 'lineitem', body: null },
        { ...thread, id: 802, type: 'customer', body: '<p>Still nothing</p>' },
        { ...thread, id: 801, type: 'customer', body: 'It has been nine days.' },
      ],
    },
  });

  expect(await resolveMessage(source, message, http)).toMatchObject({
    kind: 'found',
    message: { messageId: '802', text: 'Still nothing' },
  });
});

test('a preview of Front is filled in by its message', async () => {
  const { request, source } = delivery('front.app.inbound_received.json');
  const whole = JSON.parse(request.rawBody.toString()) as {
    payload: { target: { data: Record<string, unknown> } };
  };
  const { data } = whole.payload.target;
  const { text: _text, body: _body, recipients: _recipients, ...preview } = data;
  whole.payload.target.data = preview;
  const rawBody = Buffer.from(JSON.stringify(whole));
  const [message] = (await source.adapter.map({ ...request, rawBody }, source)).accept;
  expect(message).toMatchObject({ missing: ['text', 'author'] });
  if (message === undefined) return;
  const http = api(data);

  expect(await resolveMessage(source, message, http)).toMatchObject({
    kind: 'found',
    message: { text: 'It has been nine days.', requester: { id: 'customer.one@example.com' } },
  });
  expect(http.paths).toEqual(['/messages/msg_1q15qmtq']);
});

test('an answer that is none of the system is refused, and a message that lacks nothing is not read again', async () => {
  const message = await messageIn('zendesk.trigger.customer-reply.json');
  const complete = await messageIn('zammad.article.customer.json');

  await expect(resolveMessage(sourceOf('zendesk'), message, api({ error: 'x' }))).rejects.toThrow();
  await expect(resolveMessage(sourceOf('zammad'), complete, api({}))).rejects.toThrow(
    /nothing to re-read/,
  );
});
