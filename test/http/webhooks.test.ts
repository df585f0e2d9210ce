import { createHmac } from 'node:crypto';
import { expect, inject, onTestFinished, test } from 'vitest';
import { configureSource } from '../../src/producers/ingress/index.ts';
import { noMeter } from '../../src/telemetry/metrics/index.ts';
import { DeadLetters } from '../../src/store/dead-letters.ts';
import { TcpProxy } from '../support/tcp-proxy.ts';
import { startService, type Service, type ServiceOptions } from './service.ts';

const SECRET = 'a-long-enough-secret';
const SOURCES = [
  configureSource({ name: 'desk', type: 'zammad', secrets: [SECRET], ownAuthors: ['9'] }),
  configureSource({ name: 'chat', type: 'chatwoot', secrets: [SECRET] }),
];

test('[P1] a signed delivery is answered with 2xx once its message is stored, and a repeat adds nothing', async () => {
  const service = await start();
  const body = article({ id: 71, sender: 'Customer', body: 'Where is my parcel?' });
  expect((await deliver(service, body)).status).toBe(200);
  expect((await deliver(service, body)).status).toBe(200);
  const conversation = await service.records.conversation('desk/42');
  expect(conversation).toMatchObject({ waiting: 1, holder: { owner: 'agent' } });
});

test('the signature is checked on the bytes that came: an equal value in other bytes is refused with 401', async () => {
  const service = await start();
  const body = article({ id: 71, sender: 'Customer', body: 'Hello' });
  const respaced = JSON.stringify(JSON.parse(body), null, 1);
  const refusals = [
    await deliver(service, respaced, sign(body)),
    await deliver(service, body, sign(body, 'another-secret')),
    await deliver(service, body, {}),
  ];
  expect(refusals.map(({ status }) => status)).toEqual([401, 401, 401]);
  expect(await service.records.conversation('desk/42')).toBeUndefined();
});

test('bytes that are no text are taken as they are: any content type, any encoding, and none', async () => {
  const service = await start();
  const body = Buffer.from(article({ id: 71, sender: 'Customer', body: 'Gruß' }), 'utf8');
  for (const type of ['application/json; charset=iso-8859-1', 'text/plain', 'x/y']) {
    const headers = { ...sign(body), 'content-type': type };
    expect((await deliver(service, body, headers)).status).toBe(200);
  }
  expect((await deliver(service, '', sign(''))).status).toBe(200);
});

test('[P13] a public message of the staff takes the conversation over before the customer hears more from the agent', async () => {
  const service = await start();
  await deliver(service, article({ id: 71, sender: 'Customer', body: 'Hello' }));
  await deliver(service, article({ id: 72, sender: 'Agent', body: 'I take this', by: 7 }));
  const { holder } = (await service.records.conversation('desk/42')) ?? {};
  expect(holder?.owner).toBe('human');
});

test('what the service posted itself is left alone when it comes back, by its author or by its id', async () => {
  const service = await start({
    webhooks: {
      posted: () => Promise.resolve({ ids: new Set(['73']), sending: false }),
      changed: () => Promise.resolve(),
    },
  });
  await deliver(service, article({ id: 71, sender: 'Customer', body: 'Hello' }));
  expect(
    (await deliver(service, article({ id: 73, sender: 'Agent', body: 'Yo', by: 7 }))).status,
  ).toBe(200);
  const { holder, waiting } = (await service.records.conversation('desk/42')) ?? {};
  expect([holder?.owner, waiting]).toEqual(['agent', 1]);
});

test('a genuine delivery nobody understands is answered as its system wants, and kept for a person', async () => {
  const service = await start();
  const body = '{"ticket": {"id": 42}, "article": {"id": 7, "sender": "Robot"}}';
  expect((await deliver(service, body)).status).toBe(200);
  const [letter] = await new DeadLetters(service.store).list();
  expect(Buffer.from(letter?.body ?? '', 'base64').toString()).toBe(body);
  const token = await service.tokenFor(['operator', 'auditor']);
  const masked = await service.call('GET', '/v1/dead-letters', { token });
  expect(masked.body).toMatchObject({
    letters: [{ source: 'desk', size: body.length, body: null }],
  });
  const raw = await service.call('GET', '/v1/dead-letters?raw=true', { token });
  expect(raw.body).toMatchObject({ letters: [{ body: letter?.body }] });
});

test('[P1] what is not known to be stored is answered in the words of its system, never with 2xx', async () => {
  const proxy = await TcpProxy.start(Number(new URL(inject('redisUrl')).port));
  onTestFinished(() => proxy.close());
  const service = await start({ redisUrl: `redis://127.0.0.1:${proxy.port}` });
  await deliver(service, article({ id: 70, sender: 'Customer', body: 'Hello' }));
  await proxy.close();
  const desk = await deliver(service, article({ id: 71, sender: 'Customer', body: 'Hello' }));
  expect([desk.status, desk.headers.get('retry-after')]).toEqual([503, '30']);
  const { body, headers } = chatMessage();
  const chat = await service.call('POST', '/v1/webhooks/chat', { body, headers });
  expect(chat.status).toBe(500);
});

test('a source nobody configured is not found', async () => {
  const { call } = await start();
  expect((await call('POST', '/v1/webhooks/nobody', { body: {} })).status).toBe(404);
});

function start(options: ServiceOptions = {}): Promise<Service> {
  return startService({ sources: SOURCES, ...options });
}

function deliver(
  { call }: Service,
  body: string | Buffer,
  headers: Record<string, string> = sign(body),
) {
  return call<string>('POST', '/v1/webhooks/desk', { body, headers });
}

function sign(body: string | Buffer, secret = SECRET): Record<string, string> {
  const mac = createHmac('sha1', secret).update(body).digest('hex');
  return { 'content-type': 'application/json', 'x-hub-signature': `sha1=${mac}` };
}

function article(given: { id: number; sender: string; body: string; by?: number }): string {
  const { id, sender, body, by = 3 } = given;
  return JSON.stringify({
    ticket: { id: 42, title: 'Order' },
    article: {
      ...{ id, sender, body, type: 'web', internal: false, created_by_id: by },
      created_by: { email: 'ana@example.com' },
    },
  });
}

function chatMessage() {
  const body = JSON.stringify({
    event: 'message_created',
    ...{ id: 1, content: 'Hello', message_type: 'incoming' },
    conversation: { id: 5, status: 'pending', channel: 'Channel::Api' },
    sender: { id: 2, type: 'contact' },
  });
  const stamp = String(Math.floor(Date.now() / 1_000));
  const mac = createHmac('sha256', SECRET).update(`${stamp}.${body}`).digest('hex');
  const headers = { 'x-chatwoot-signature': `sha256=${mac}`, 'x-chatwoot-timestamp': stamp };
  return { body, headers: { ...headers, 'content-type': 'application/json' } };
}

test('every request is counted by what became of it, also one that is turned away unread', async () => {
  const counted: string[] = [];
  const meter = {
    ...noMeter,
    add: (_name: string, labels: object) => counted.push(Object.values(labels).join(' ')),
  };
  const service = await start({ meter, perMinute: 4 });
  const body = article({ id: 71, sender: 'Customer', body: 'Hello' });

  await deliver(service, body);
  await deliver(service, body);
  await deliver(service, body, {});
  await deliver(service, Buffer.alloc(26 * 1_048_576)).catch(() => {});
  await deliver(service, body);
  await expect.poll(() => counted.length).toBe(7);

  expect(counted).toEqual([
    ...['desk accepted', 'desk accepted', 'desk duplicate', 'desk duplicate'],
    ...['desk missing_signature', 'desk too_large', 'desk rate_limited'],
  ]);
});
