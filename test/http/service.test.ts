import { Writable } from 'node:stream';
import pino from 'pino';
import { expect, test } from 'vitest';
import { configureSource } from '../../src/producers/ingress/index.ts';
import { noMeter } from '../../src/telemetry/metrics/index.ts';
import { message, startService } from './service.ts';

test('a ready service says that Redis takes writes, the queues answer and work is being done', async () => {
  const { call } = await startService();
  expect((await call('GET', '/healthz')).body).toEqual({ ok: true });
  expect(await call('GET', '/readyz')).toMatchObject({
    status: 200,
    body: { ready: true, redis: 'ok', queue: 'ok', progress: 'ok' },
  });
});

test('a service whose messages nobody works on is not ready, and says so', async () => {
  const clock = { offsetMs: 0 };
  const { call, store } = await startService({ store: { clockOffsetMs: () => clock.offsetMs } });
  await store.acceptMessage({
    ...message(),
    requester: { id: 'ana@example.com', assurance: 'verified' },
  });
  clock.offsetMs = 10 * 60_000;
  expect(await call('GET', '/readyz')).toMatchObject({
    status: 503,
    body: { ready: false, redis: 'ok', progress: expect.stringContaining('is a worker running?') },
  });
});

test('metrics are served where a text for them is given, and nowhere else', async () => {
  const { call } = await startService({ metrics: () => Promise.resolve('turnkeeper_up 1\n') });
  const metrics = await call<string>('GET', '/metrics');
  expect([metrics.status, metrics.body]).toEqual([200, 'turnkeeper_up 1\n']);
  const other = await startService();
  expect((await other.call('GET', '/metrics')).status).toBe(404);
});

test('a process that has more to do than it can turns requests away by name, each webhook in its own words', async () => {
  const sources = [
    configureSource({ name: 'chat', type: 'chatwoot', secrets: ['a-long-enough-secret'] }),
  ];
  const counted: string[] = [];
  const meter = {
    ...noMeter,
    add: (_name: string, labels: object) => counted.push(Object.values(labels).join(' ')),
  };
  const { call } = await startService({ maxEventLoopDelay: 1, sources, meter });
  const busy = async (path: string) => {
    for (;;) {
      const until = performance.now() + 25;
      while (performance.now() < until);
      const answer = await call('POST', path, { body: {} });
      if (answer.status >= 500) return answer;
    }
  };
  const refused = await busy('/v1/messages');
  expect(refused).toMatchObject({ status: 503, body: { code: 'fst_under_pressure' } });
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  expect((await busy('/v1/webhooks/chat')).status).toBe(500);
  await expect.poll(() => counted.at(-1)).toBe('chat shed');
  expect((await call('GET', '/healthz')).status).toBe(200);
});

test('the documentation is served without asking any other host for anything', async () => {
  const { call, url } = await startService();
  const page = await call<string>('GET', '/docs/');
  expect(page.status).toBe(200);
  const policy = page.headers.get('content-security-policy') ?? '';
  expect(policy).toContain("default-src 'none'");
  expect(policy).not.toMatch(/https?:|\*/);
  const addresses = [...page.body.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, one]) => one ?? '');
  expect(addresses.length).toBeGreaterThan(3);
  for (const address of addresses) {
    const asset = new URL(address, `${url}/docs/`);
    expect(asset.origin).toBe(url);
    expect([address, (await call('GET', asset.pathname)).status]).toEqual([address, 200]);
  }
  const { body } = await call<{ paths: object }>('GET', '/docs/json');
  expect(Object.keys(body.paths)).toContain('/v1/messages');
});

test('every answer carries the headers that keep browsers from doing harm with it', async () => {
  const { call } = await startService();
  const { headers } = await call('GET', '/healthz');
  expect(headers.get('x-content-type-options')).toBe('nosniff');
  expect(headers.get('x-frame-options')).toBe('SAMEORIGIN');
  expect(headers.has('x-powered-by')).toBe(false);
});

test('[P16] neither keys, nor texts, nor query strings reach the log', async () => {
  const lines: string[] = [];
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      lines.push(chunk.toString());
      done();
    },
  });
  const { call, tokenFor } = await startService({ logger: pino({ level: 'trace' }, stream) });
  const token = await tokenFor(['ingest']);
  const body = message({ text: 'canary text', subject: 'canary subject' });
  await call('POST', '/v1/messages?secret=canary-query', { token, body });
  await call('POST', '/v1/messages', { token, body: { ...body, messageId: 7 } });
  await call('GET', '/v1/turns', { token });
  await call('POST', '/v1/webhooks/nobody?secret=canary-query', { body });
  const log = lines.join('');
  expect(log).toContain('/v1/messages');
  expect(log).not.toContain('canary');
  expect(log).not.toContain(token.slice(17));
});
