import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, inject, test } from 'vitest';
import { freePort } from '../../src/store/embedded-redis.ts';
import { playedTurn, playShop } from './played-shop.ts';
import { emptyDirectory, MAIN, prefixOf, runCli } from './run-cli.ts';

describe('wrong usage', () => {
  test.each([
    [['frobnicate'], "unknown command 'frobnicate'"],
    [['why'], "missing required argument 'id'"],
    [['turns', 'list', '--limit', '0'], 'must be a whole number from 1 to 1000'],
    [
      ['turns', 'list', '-o', 'xml'],
      '--output is "xml": must be one of table, json, jsonl, csv, id',
    ],
  ])(
    '%j ends with 2, says what is wrong on stderr, and nothing on stdout',
    async (args, problem) => {
      const { code, stdout, stderr } = await runCli(args);

      expect([code, stdout]).toEqual([2, '']);
      expect(stderr).toMatch(/^error: /);
      expect(stderr).toContain(problem);
    },
  );

  test('is reported as JSON to whoever asked for JSON', async () => {
    const { code, stderr } = await runCli(['why', '--json']);

    expect(code).toBe(2);
    const { error } = JSON.parse(stderr) as { error: Record<string, unknown> };
    expect(Object.keys(error)).toEqual(['code', 'message', 'next', 'retryable', 'request_id']);
    expect(error).toMatchObject({
      code: 'usage',
      retryable: false,
      next: expect.stringContaining('turnkeeper why') as string,
    });
  });

  test('a bare command shows its help on stderr and ends with 2; --help is an answer and ends with 0', async () => {
    const [bare, help, version] = await Promise.all([
      runCli(['approvals']),
      runCli(['enqueue', '--help']),
      runCli(['--version']),
    ]);

    expect([bare.code, bare.stdout]).toEqual([2, '']);
    expect(bare.stderr).toContain('Usage: turnkeeper approvals');
    expect([help.code, help.stderr]).toEqual([0, '']);
    expect(help.stdout).toContain('Usage: turnkeeper enqueue');
    expect(version.stdout).toMatch(/^\d+\.\d+\.\d+\S*\n$/);
  });
});

describe('settings', () => {
  test('[S3-14] every bad one is named with its value and what would do', async () => {
    const environment = {
      LANES: 'many',
      REDIS_URL: 'http://u:secret@example.com',
      CONCURRENCY: '0',
      LOG_LEVEL: 'loud',
    };

    const { code, stderr } = await runCli(['turns', 'list'], { environment });

    expect(code).toBe(2);
    expect(stderr).toContain('LANES is "many": must be a whole number from 1 to 1024');
    expect(stderr).toContain(
      'REDIS_URL is "http://u:***@example.com": must be a URL such as redis://127.0.0.1:6379',
    );
    expect(stderr).toContain('CONCURRENCY is "0": must be a whole number from 1 to 1000');
    expect(stderr).toContain('LOG_LEVEL is "loud": must be one of fatal, error');
    expect(stderr).not.toContain('secret');
  });

  test('come from .env where the environment does not say otherwise, and another number of lanes is refused', async () => {
    const { store } = await playShop();
    const directory = emptyDirectory();
    writeFileSync(join(directory, '.env'), `TURNKEEPER_PREFIX=${prefixOf(store)}\nLANES=3\n`);

    const refused = await runCli(['turns', 'list'], { directory });
    const overridden = await runCli(['turns', 'list'], { directory, environment: { LANES: '1' } });

    expect([refused.code, overridden.code]).toEqual([2, 0]);
    expect(refused.stderr).toContain('LANES is 3, but this Redis was started with 1');
  });
});

describe('a Redis that is not there', () => {
  test('is named with what was tried and what to do; exit 75, nothing on stdout, nothing left running', async () => {
    const url = `redis://:secret@127.0.0.1:${await freePort()}`;

    const { code, signal, stdout, stderr } = await runCli(['turns', 'list'], {
      environment: { REDIS_URL: url },
    });

    expect([code, signal, stdout]).toEqual([75, null, '']);
    expect(stderr).toMatch(
      /^error: Redis does not answer at redis:\/\/:\*\*\*@127\.0\.0\.1:\d+ \(from REDIS_URL\): .*ECONNREFUSED/,
    );
    expect(stderr).toContain('  next: start it (docker compose up redis)');
    expect(stderr.trimEnd().split('\n')).toHaveLength(2);
  });

  test('when none is configured and none runs here, the way to start one is named', async () => {
    const { code, stderr } = await runCli(['blocked', '--json'], {
      environment: { REDIS_URL: undefined },
    });

    expect(code).toBe(75);
    expect(JSON.parse(stderr)).toMatchObject({
      error: {
        code: 'redis_not_configured',
        retryable: true,
        next: expect.stringContaining('turnkeeper up') as string,
      },
    });
  });
});

test('a reader that has seen enough closes the pipe, and the command ends with 0', async () => {
  const { store, id } = await playedTurn();
  const child = spawn(process.execPath, [MAIN, 'trace', id, '-o', 'jsonl'], {
    env: {
      PATH: process.env['PATH'],
      REDIS_URL: inject('redisUrl'),
      TURNKEEPER_PREFIX: prefixOf(store),
    },
    cwd: emptyDirectory(),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stderr = '';
  child.stderr.on('data', (chunk: Buffer) => {
    stderr += chunk.toString();
  });

  child.stdout.destroy();
  const [code] = (await once(child, 'close')) as [number | null];

  expect([code, stderr]).toEqual([0, '']);
});
