import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { settingChecks, type Check } from '../../src/cli/doctor-checks.ts';
import type { RedisFacts } from '../../src/cli/redis-settings.ts';
import { freePort } from '../../src/store/embedded-redis.ts';
import { agentFile } from './agent-file.ts';
import { playShop } from './played-shop.ts';
import { emptyDirectory, runCli, runJson } from './run-cli.ts';

function statusOf(checks: readonly Check[], name: string): string | undefined {
  return checks.find(({ check }) => check === name)?.status;
}

describe('doctor', () => {
  test('on a Redis as shipped, with a worker and an agent, finds nothing', async () => {
    const { store } = await playShop();
    const directory = emptyDirectory();
    writeFileSync(join(directory, 'turnkeeper.config.ts'), agentFile());

    const { code, stdout } = await runCli(['doctor'], { store, directory });

    expect(stdout).not.toMatch(/^(warn|fail)/m);
    expect(stdout).toMatch(/^ok {4}workers +1 process alive$/m);
    expect(stdout).toMatch(/^ok {4}appendfsync +always$/m);
    expect(stdout).toMatch(/^ok {4}tools +0 tools, each with its whole contract$/m);
    expect(code).toBe(0);
  });

  test('names what is not there with the fix: Redis, configuration; ends with 1', async () => {
    const environment = { REDIS_URL: `redis://127.0.0.1:${await freePort()}` };

    const checks = await runJson<Check[]>(['doctor'], { environment });

    expect(checks).toMatchObject([
      {
        check: 'redis',
        status: 'fail',
        fix: expect.stringContaining('docker compose up redis') as string,
      },
      {
        check: 'config',
        status: 'fail',
        value: expect.stringContaining('there is no turnkeeper.config.ts') as string,
      },
    ]);
  });

  test('a Redis that would lose or drop records, or whose clock is off, is warned about with the command', () => {
    const facts: RedisFacts = {
      ...{
        version: '6.0.16',
        appendonly: 'no',
        appendfsync: 'everysec',
        maxmemoryPolicy: 'allkeys-lru',
        hz: 10,
      },
      ...{ evictedKeys: 4, usedMemory: 90, maxMemory: 100, skewMs: -1_500 },
    };

    const checks = settingChecks(facts);

    expect(checks.every(({ status, fix }) => status !== 'ok' && fix !== null)).toBe(true);
    expect(checks.map(({ fix }) => fix)).toContain(
      'what was accepted is lost when Redis ends: CONFIG SET appendonly yes',
    );
    expect([statusOf(checks, 'redis'), statusOf(checks, 'evicted keys')]).toEqual(['fail', 'fail']);
    expect(checks.find(({ check }) => check === 'clock')?.value).toBe('1.5 s behind this host');
  });
});
