import { once } from 'node:events';
import { expect, inject, onTestFinished, test, vi } from 'vitest';
import { MAX_TEXT_LENGTH } from '../../src/contracts/index.ts';
import { messageIdOf } from '../../src/store/index.ts';
import { committing, ended, opened, transition } from '../support/store.ts';
import { TcpProxy } from '../support/tcp-proxy.ts';
import { message, startService } from './service.ts';
import { startWithWaitingTurn } from './waiting-case.ts';

test('[P1] a message is answered with 202 once it is stored, and with 200 and the same id when it comes again', async () => {
  const { call, tokenFor, records } = await startService();
  const token = await tokenFor(['ingest']);
  const body = message();
  const first = await call('POST', '/v1/messages', { token, body });
  const again = await call('POST', '/v1/messages', { token, body });
  const id = messageIdOf('test', 'c1', body.messageId);
  const url = `/v1/messages/${id}`;
  expect(first).toMatchObject({
    status: 202,
    body: { id, conversationId: 'test/c1', status: 'accepted', turnId: null, url },
  });
  expect(first.headers.get('location')).toBe(url);
  expect(again).toMatchObject({ status: 200, body: { id, status: 'known' } });
  expect((await records.conversation('test/c1'))?.waiting).toBe(1);
});

test('a message costs two calls of Redis: the step that stores it and its wake-up; keys and rates are not asked for', async () => {
  const { call, tokenFor, redis } = await startService();
  const token = await tokenFor(['ingest']);
  const sent = vi.spyOn(redis, 'sendCommand');
  const of = (what: string) =>
    sent.mock.calls.filter(([{ args }]) => args.some((arg) => String(arg).includes(what))).length;
  const send = (conversationId: string) =>
    call('POST', '/v1/messages', { token, body: message({ conversationId }) });
  await send('first');
  await expect.poll(() => of(':turns:wait')).toBeGreaterThan(0);
  // A script nobody has used yet is sent twice.
  await redis.ping();
  await redis.ping();
  sent.mockClear();

  for (let at = 0; at < 20; at += 1) await send(`c${at}`);

  await expect.poll(() => of(':turns:wait')).toBe(20);
  const counted = of(':rate:');
  expect([of('messageId'), sent.mock.calls.length - counted]).toEqual([20, 40]);
  expect(counted).toBeLessThan(20);
});

test('[P1] a message whose storing is not known to have worked is answered with 503 and Retry-After, and its repeat with 200', async () => {
  const { proxy, call, tokenFor, redis, records } = await startBehindProxy();
  const token = await tokenFor(['ingest']);
  const body = message();
  await call('POST', '/v1/messages', { token, body: message({ conversationId: 'before' }) });
  const lost = proxy.when([body.messageId], 1, (request) => request.loseAnswer());
  const first = await call('POST', '/v1/messages', { token, body });
  expect(lost()).toBe(1);
  expect(first).toMatchObject({ status: 503, body: { code: 'not_stored' } });
  expect(first.headers.get('retry-after')).toBe('5');
  if (redis.status !== 'ready') await once(redis, 'ready');
  const again = await call('POST', '/v1/messages', { token, body });
  expect(again).toMatchObject({ status: 200, body: { status: 'known' } });
  expect((await records.conversation('test/c1'))?.waiting).toBe(1);
});

test('[P1] a message that never reached Redis is answered with 503, and its repeat is taken as new', async () => {
  const { proxy, call, tokenFor, redis, records } = await startBehindProxy();
  const token = await tokenFor(['ingest']);
  const body = message();
  await call('POST', '/v1/messages', { token, body: message({ conversationId: 'before' }) });
  proxy.when([body.messageId], 1, (request) => request.lose());
  const first = await call('POST', '/v1/messages', { token, body });
  expect(first.status).toBe(503);
  if (redis.status !== 'ready') await once(redis, 'ready');
  const again = await call('POST', '/v1/messages', { token, body });
  expect(again).toMatchObject({ status: 202, body: { status: 'accepted' } });
  expect((await records.conversation('test/c1'))?.waiting).toBe(1);
});

test('without Redis a message is answered with 503 at once, and nobody waits for it to come back', async () => {
  const { proxy, call, tokenFor } = await startBehindProxy();
  const token = await tokenFor(['ingest']);
  await call('POST', '/v1/messages', { token, body: message() });
  await proxy.close();
  const answer = await call('POST', '/v1/messages', { token, body: message() });
  expect(answer).toMatchObject({ status: 503, body: { code: 'not_stored' } });
  expect(answer.headers.get('retry-after')).toBe('5');
  expect((await call('GET', '/healthz')).status).toBe(200);
  expect(await call('GET', '/readyz')).toMatchObject({
    status: 503,
    body: { ready: false, redis: 'no answer from Redis' },
  });
});

test('a hand-over under a known Idempotency-Key is known, whatever id its message has got meanwhile', async () => {
  const { call, tokenFor, records } = await startService();
  const token = await tokenFor(['ingest']);
  const headers = { 'idempotency-key': 'delivery-1' };
  const body = message();
  expect((await call('POST', '/v1/messages', { token, body, headers })).status).toBe(202);
  expect((await call('POST', '/v1/messages', { token, body, headers })).status).toBe(200);
  expect((await records.conversation('test/c1'))?.waiting).toBe(1);
});

test('[P1] another message under a known Idempotency-Key is refused, never answered as if it were stored', async () => {
  const { call, tokenFor, records } = await startService();
  const token = await tokenFor(['ingest']);
  const headers = { 'idempotency-key': 'delivery-1' };
  await call('POST', '/v1/messages', { token, body: message(), headers });
  const other = await call('POST', '/v1/messages', { token, body: message(), headers });
  expect(other).toMatchObject({
    status: 422,
    body: { code: 'idempotency_key_reused', field: 'Idempotency-Key', value: 'delivery-1' },
  });
  expect((await records.conversation('test/c1'))?.waiting).toBe(1);
});

test('what cannot be used is refused with the field, its value and what would do', async () => {
  const { call, tokenFor } = await startService();
  const token = await tokenFor(['ingest']);
  const refusals = [
    [message({ source: 'Zen Desk' }), 'source', 'Zen Desk', /a-z, 0-9/],
    [message({ requester: { id: 'a', assurance: 'sure' } }), 'requester.assurance', 'sure', /none/],
    [message({ text: undefined }), 'text', null, /string/],
    [message({ conversationId: '' }), 'conversationId', '', />=1/],
    [message({ source: undefined }), 'source', null, /zendesk/],
    [[message()], 'body', expect.stringMatching(/^\[\{/), /object/],
  ] as const;
  for (const [body, field, value, fix] of refusals) {
    const answer = await call('POST', '/v1/messages', { token, body });
    expect(answer).toMatchObject({
      status: 400,
      body: { code: 'invalid_input', status: 400, field, value, fix: expect.stringMatching(fix) },
    });
    expect(answer.headers.get('content-type')).toMatch(/^application\/problem\+json/);
  }
});

test('bodies that are no JSON, of another type or too large are refused by name', async () => {
  const { call, tokenFor } = await startService({ bodyLimit: 10_000 });
  const token = await tokenFor(['ingest']);
  const json = { 'content-type': 'application/json' };
  const send = (body: string, headers: Record<string, string>) =>
    call('POST', '/v1/messages', { token, body, headers });
  expect(await send('{"source":', json)).toMatchObject({ status: 400 });
  expect(await send('', json)).toMatchObject({ status: 400 });
  expect(await send('hello', { 'content-type': 'text/plain' })).toMatchObject({ status: 415 });
  expect(await send('x'.repeat(10_001), json)).toMatchObject({ status: 413 });
});

test('a text of 1 MB is taken and cut once, with a mark', async () => {
  const { call, tokenFor, redis, store } = await startService();
  const token = await tokenFor(['ingest']);
  const text = '\n'.repeat(1_000_000);
  const answer = await call('POST', '/v1/messages', { token, body: message({ text }) });
  expect(answer.status).toBe(202);
  const stored = await redis.lindex(`${store.tagOf('test/c1')}:mail:test/c1`, 0);
  const kept = (JSON.parse(stored ?? '') as { text: string }).text;
  expect(kept.startsWith('\n'.repeat(MAX_TEXT_LENGTH))).toBe(true);
  expect(kept.match(/\[cut: .*?\]/g)).toEqual(['[cut: 100000 of 1000000 characters kept]']);
});

test('a key of one source hands in for that source only, and need not name it', async () => {
  const { call, tokenFor } = await startService();
  const token = await tokenFor(['ingest'], { source: 'zendesk' });
  const unnamed = await call('POST', '/v1/messages', {
    token,
    body: message({ source: undefined }),
  });
  expect(unnamed).toMatchObject({ status: 202, body: { conversationId: 'zendesk/c1' } });
  const other = await call('POST', '/v1/messages', { token, body: message({ source: 'front' }) });
  expect(other).toMatchObject({ status: 403, body: { field: 'source', value: 'front' } });
});

test('where a message is can be looked up: with the turn that answered it, once there is one', async () => {
  const { call, tokenFor, store } = await startService();
  const token = await tokenFor(['ingest']);
  const { body } = await call<{ id: string; url: string }>('POST', '/v1/messages', {
    token,
    body: message(),
  });
  expect(await call('GET', body.url, { token })).toMatchObject({
    status: 200,
    body: { id: body.id, status: 'waiting', turnId: null, outcome: null },
  });
  const claimed = await store.claimTurn('test/c1', { jobId: 'job1', workerId: 'w1' });
  if (claimed.kind !== 'claimed') throw new Error(claimed.kind);
  const { claim } = claimed.turn;
  await store.record(claim, transition(0, opened));
  await store.commit(claim, transition(1, ended), committing(claim, { answered: [body.id] }));
  expect(await call('GET', body.url, { token })).toMatchObject({
    status: 200,
    body: {
      status: 'answered',
      conversationId: 'test/c1',
      turnId: claim.turnId,
      outcome: 'completed',
      reason: 'replied',
      turnUrl: `/v1/turns/${claim.turnId}`,
    },
  });
  expect((await call('GET', '/v1/messages/xnobody', { token })).status).toBe(404);
});

test('a message names its turn as soon as one has claimed it, and one that waits behind does not', async () => {
  const { call, tokenFor, named, store } = await startWithWaitingTurn();
  const token = await tokenFor(['ingest'], { source: 'north' });
  expect((await call('GET', `/v1/messages/${named.message}`, { token })).body).toMatchObject({
    status: 'in_turn',
    conversationId: 'north/c1',
    turnId: named.turn,
    outcome: null,
  });
  const behind = await store.acceptMessage({
    ...message({ source: 'north' }),
    requester: { id: 'ana@example.com', assurance: 'verified' },
  });
  expect((await call('GET', `/v1/messages/${behind.id}`, { token })).body).toMatchObject({
    status: 'waiting',
    conversationId: 'north/c1',
    turnId: null,
  });
});

test('a key of one source sees its waiting messages and nobody else’s', async () => {
  const { call, tokenFor } = await startService();
  const [north, south] = [
    await tokenFor(['ingest'], { source: 'north' }),
    await tokenFor(['ingest'], { source: 'south' }),
  ];
  const { body } = await call<{ url: string }>('POST', '/v1/messages', {
    token: north,
    body: message({ source: 'north' }),
  });
  expect((await call('GET', body.url, { token: north })).status).toBe(200);
  expect((await call('GET', body.url, { token: south })).status).toBe(404);
});

test('a message that comes again while its turn is open is answered with 200 and the turn', async () => {
  const { call, tokenFor, store } = await startService();
  const token = await tokenFor(['ingest']);
  const body = message();
  await call('POST', '/v1/messages', { token, body });
  const claimed = await store.claimTurn('test/c1', { jobId: 'job1', workerId: 'w1' });
  if (claimed.kind !== 'claimed') throw new Error(claimed.kind);
  expect(await call('POST', '/v1/messages', { token, body })).toMatchObject({
    status: 200,
    body: { status: 'known', turnId: claimed.turn.claim.turnId },
  });
});

async function startBehindProxy() {
  const proxy = await TcpProxy.start(Number(new URL(inject('redisUrl')).port));
  onTestFinished(() => proxy.close());
  const service = await startService({ redisUrl: `redis://127.0.0.1:${proxy.port}` });
  return { ...service, proxy };
}
