import { expect, test } from 'vitest';
import { SharedCounts } from '../../src/store/shared-counts.ts';
import { openStore } from '../support/store.ts';
import { message, startService } from './service.ts';

test('a key is told once, and only its prefix is shown afterwards', async () => {
  const { call, tokenFor, redis, prefix } = await startService();
  const admin = await tokenFor(['admin']);
  const created = await call<{ token: string; prefix: string; id: string }>('POST', '/v1/keys', {
    token: admin,
    body: { name: 'zendesk', roles: ['ingest'], source: 'zendesk', reason: 'new source' },
  });
  expect(created.status).toBe(201);
  const { token, id } = created.body;
  expect(token.startsWith(`${created.body.prefix}_`)).toBe(true);
  const list = await call('GET', '/v1/keys', { token: admin });
  const secret = token.slice(created.body.prefix.length + 1);
  expect(JSON.stringify(list.body)).not.toContain(secret);
  expect(JSON.stringify(await redis.hgetall(`{${prefix}0}:apikey:${id}`))).not.toContain(secret);
  const body = message({ source: undefined });
  expect((await call('POST', '/v1/messages', { token, body })).status).toBe(202);
});

test('a key that is unknown, expired or revoked is told so, and gets nothing', async () => {
  const clock = { offsetMs: 0 };
  const { call, tokenFor, keys, store } = await startService({
    store: { clockOffsetMs: () => clock.offsetMs },
  });
  const admin = await tokenFor(['admin']);
  const body = message();
  const attempt = (token: string) => call('POST', '/v1/messages', { token, body });
  const unknown = `tk_${'a'.repeat(12)}_${'b'.repeat(43)}`;
  expect(await attempt(unknown)).toMatchObject({ status: 401, body: { code: 'key_unknown' } });
  const short = await tokenFor(['ingest'], { expiresAt: store.clock().now() + 1_000 });
  const wrong = `${short.slice(0, -1)}${short.endsWith('A') ? 'B' : 'A'}`;
  expect(await attempt(wrong)).toMatchObject({ status: 401, body: { code: 'key_unknown' } });
  expect((await attempt(short)).status).toBe(202);
  clock.offsetMs = 1_001;
  expect(await attempt(short)).toMatchObject({ status: 401, body: { code: 'key_expired' } });
  const { key, token } = await keys.create({ name: 'eve', roles: ['ingest'], by: 'test' });
  const revoked = await call('POST', `/v1/keys/${key.id}/revoke`, {
    token: admin,
    body: { reason: 'left' },
  });
  expect(revoked).toMatchObject({ status: 200, body: { revokedBy: 'admin person' } });
  expect(await attempt(token)).toMatchObject({ status: 401, body: { code: 'key_revoked' } });
});

test('a key over its rate is refused with Retry-After while every other key is served', async () => {
  const { call, tokenFor } = await startService();
  const busy = await tokenFor(['ingest'], { perMinute: 2 });
  const other = await tokenFor(['ingest']);
  const send = (token: string) => call('POST', '/v1/messages', { token, body: message() });
  expect((await send(busy)).status).toBe(202);
  expect((await send(busy)).status).toBe(202);
  const refused = await send(busy);
  expect(refused).toMatchObject({ status: 429, body: { code: 'rate_limited' } });
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  expect((await send(other)).status).toBe(202);
});

test('who tries keys is slowed down by address', async () => {
  const { call } = await startService({ strangersPerMinute: 2 });
  const attempt = () => call('GET', '/v1/turns', { token: 'tk_nobody' });
  expect((await attempt()).status).toBe(401);
  expect((await attempt()).status).toBe(401);
  expect((await attempt()).status).toBe(429);
  expect((await call('GET', '/healthz')).status).toBe(200);
});

test('processes count together: what one has seen the other knows after the next exchange, in the same window', async () => {
  const { store } = await openStore();
  const [one, other] = [new SharedCounts(store, 60_000), new SharedCounts(store, 60_000)];
  for (let index = 0; index < 10; index += 1) one.add('key:k1');
  await one.exchange();
  expect(other.add('key:k1').current).toBe(1);
  await other.exchange();
  const { current, ttl } = other.add('key:k1');
  expect(current).toBe(12);
  expect(ttl).toBeLessThanOrEqual(60_000);
  one.close();
  other.close();
});
