import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect as connectSocket, createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Redis } from 'ioredis';
import { expect, onTestFinished, test } from 'vitest';
import { freePort, startRedis, type RunningRedis } from '../../src/store/embedded-redis.ts';
import { findRedisServer, RedisNotFoundError } from '../../src/store/redis-server.ts';

test('the server keeps what it acknowledges, evicts nothing and is reached from this machine only', async () => {
  const { redis } = await startInNewFolder();
  const client = clientOf(redis);

  const setting = async (name: string) => (await client.config('GET', name)) as unknown;

  expect(await setting('appendonly')).toEqual(['appendonly', 'yes']);
  expect(await setting('appendfsync')).toEqual(['appendfsync', 'always']);
  expect(await setting('save')).toEqual(['save', '']);
  expect(await setting('maxmemory-policy')).toEqual(['maxmemory-policy', 'noeviction']);
  expect(await setting('hz')).toEqual(['hz', '100']);
  expect(await setting('bind')).toEqual(['bind', '127.0.0.1']);
  expect(await client.info('server')).toContain(`redis_version:${redis.version}`);
});

test('[P1] what was written stands after the server was killed and started again on its folder', async () => {
  const { redis, dataDir } = await startInNewFolder();
  await clientOf(redis).set('kept', 'yes');

  await redis.kill('SIGKILL');
  const again = await start({ dataDir, port: redis.port });

  expect(again.port).toBe(redis.port);
  expect(await clientOf(again).get('kept')).toBe('yes');
});

test('a second start on a folder joins the server there and leaves it running', async () => {
  const { redis, dataDir } = await startInNewFolder();

  const second = await startRedis({ dataDir });
  await second.stop();

  expect(second).toMatchObject({ joined: true, pid: redis.pid, version: redis.version });
  expect(await clientOf(redis).ping()).toBe('PONG');
});

test('starts at the same moment end up with one server', async () => {
  const dataDir = newFolder();

  const servers = await Promise.all([1, 2, 3].map(() => start({ dataDir })));

  expect(new Set(servers.map(({ pid }) => pid)).size).toBe(1);
  expect(servers.filter(({ joined }) => !joined)).toHaveLength(1);
});

test('a note about a server that is gone does not stand in the way', async () => {
  const dataDir = newFolder();
  const note = { pid: process.pid, port: await listeningPort(), origin: 'path' };
  writeFileSync(join(dataDir, 'running.json'), JSON.stringify({ ...note, pid: 2 ** 22 + 1 }));

  const redis = await start({ dataDir });

  expect(redis.joined).toBe(false);
});

test('a folder in use is not opened a second time on another port', async () => {
  const { redis, dataDir } = await startInNewFolder();

  await expect(startRedis({ dataDir, port: await freePort() })).rejects.toThrow(
    `the data in ${dataDir} is in use by a server on port ${redis.port}`,
  );
});

test('the server ends with its process, also when that is killed, and then the folder is free', async () => {
  const dataDir = newFolder();
  const parent = spawn(process.execPath, ['--input-type=module-typescript', '--eval', PARENT], {
    env: { ...process.env, DATA_DIR: dataDir },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = (await once(createInterface(parent.stdout), 'line')) as [string];
  const socket = connectSocket(Number(line), '127.0.0.1');
  await once(socket, 'connect');

  parent.kill('SIGKILL');

  await once(socket.resume(), 'close');
  expect(await start({ dataDir })).toMatchObject({ joined: false });
});

test('a port that is taken, by Redis or not, is named together with what to do', async () => {
  const { redis } = await startInNewFolder();

  for (const port of [redis.port, await listeningPort()]) {
    await expect(startRedis({ dataDir: newFolder(), port })).rejects.toMatchObject({
      code: 'redis_start',
      message: `port ${port} is in use by another program; stop that program or choose another port`,
    });
  }
});

test('a machine without Redis and without Debian packages is told the ways to get one', () => {
  withCacheIn(newFolder());

  expect(() => findRedisServer('')).toThrow(RedisNotFoundError);
  expect(() => findRedisServer('')).toThrow(
    /brew install redis, apt-get install redis-server.*docker compose up redis.*REDIS_URL/,
  );
});

const PARENT = `
  import { startRedis } from ${JSON.stringify(new URL('../../src/store/embedded-redis.ts', import.meta.url).href)};
  const { port } = await startRedis({ dataDir: process.env['DATA_DIR'] });
  console.log(port);
`;

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'turnkeeper-redis-test-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

async function start(options: Parameters<typeof startRedis>[0]): Promise<RunningRedis> {
  const redis = await startRedis(options);
  onTestFinished(() => redis.stop());
  return redis;
}

async function startInNewFolder(): Promise<{ redis: RunningRedis; dataDir: string }> {
  const dataDir = newFolder();
  return { redis: await start({ dataDir }), dataDir };
}

function clientOf({ url }: RunningRedis): Redis {
  const client = new Redis(url);
  client.on('error', () => {});
  onTestFinished(() => client.disconnect());
  return client;
}

/** Somebody who has a port and says nothing. */
async function listeningPort(): Promise<number> {
  const server = createServer();
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

/** Hides what was fetched for this user before. */
function withCacheIn(folder: string): void {
  const before = process.env['XDG_CACHE_HOME'];
  process.env['XDG_CACHE_HOME'] = folder;
  onTestFinished(() => {
    if (before === undefined) delete process.env['XDG_CACHE_HOME'];
    else process.env['XDG_CACHE_HOME'] = before;
  });
}
