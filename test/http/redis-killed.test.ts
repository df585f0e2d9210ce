import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { startRedis } from '../../src/store/embedded-redis.ts';
import { message, startService } from './service.ts';

test('[P1] Redis is killed under the messages that come in: none is answered 2xx and lost, and each that is sent again is there once', async () => {
  const { dataDir, redis } = await ownRedis();
  const service = await startService({ redisUrl: redis.url });
  const { call, tokenFor } = service;
  const token = await tokenFor(['ingest']);
  const bodies = Array.from({ length: 400 }, (_, at) => message({ conversationId: `c${at % 20}` }));
  const post = (body: object) => call('POST', '/v1/messages', { token, body });
  const answers = [];
  for (const body of bodies.slice(0, 100)) answers.push(await post(body));
  answers.push(
    ...(await Promise.all(
      bodies.slice(100).map(async (body, at) => {
        if (at === 100) await redis.kill('SIGKILL');
        return post(body);
      }),
    )),
  );

  const again = await startRedis({ dataDir, port: redis.port });
  onTestFinished(() => again.stop());
  if (service.redis.status !== 'ready') await once(service.redis, 'ready');
  const repeats = [];
  for (const body of bodies) repeats.push(await post(body));

  const refused = answers.filter(({ status }) => status !== 202);
  expect(refused.length).toBeGreaterThan(0);
  expect(refused.length).toBeLessThanOrEqual(300);
  for (const { status, headers, body } of refused) {
    expect([status, headers.get('retry-after'), body]).toEqual([
      ...[503, '5', expect.objectContaining({ code: 'not_stored' })],
    ]);
  }
  for (const [at, { status }] of repeats.entries()) {
    // What was stored is known now; what was not known to be may have been.
    expect(answers[at]?.status === 202 ? [200] : [200, 202]).toContain(status);
  }
  const waiting = await Promise.all(
    Array.from({ length: 20 }, async (_, at) => {
      return (await service.records.conversation(`test/c${at}`))?.waiting;
    }),
  );
  expect(waiting).toEqual(Array.from({ length: 20 }, () => 20));
});

async function ownRedis() {
  const dataDir = mkdtempSync(join(tmpdir(), 'turnkeeper-test-'));
  const redis = await startRedis({ dataDir });
  onTestFinished(async () => {
    await redis.kill('SIGKILL').catch(() => {});
    rmSync(dataDir, { recursive: true, force: true });
  });
  return { dataDir, redis };
}
