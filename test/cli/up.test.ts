import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, inject, test } from 'vitest';
import { randomUUID } from 'node:crypto';
import { ticket } from '../support/rig.ts';
import { agentFile } from './agent-file.ts';
import { emptyDirectory, runCli, runJson, startCli } from './run-cli.ts';

function directoryWith(config: string): string {
  const directory = emptyDirectory();
  writeFileSync(join(directory, 'turnkeeper.config.ts'), config);
  return directory;
}

const ownPrefix = () => ({ TURNKEEPER_PREFIX: `u${randomUUID().slice(0, 8)}-`, LOG_LEVEL: 'info' });

describe('up', () => {
  test('starts its own Redis, says what it checked, answers messages, and ends cleanly on SIGTERM', async () => {
    const directory = directoryWith(agentFile());
    const environment = { REDIS_URL: undefined, LOG_LEVEL: 'info' };
    const up = startCli(['up'], { directory, environment });
    await up.wrote('Ready.');
    const { pid } = JSON.parse(
      readFileSync(join(directory, '.data/redis/running.json'), 'utf8'),
    ) as { pid: number };

    const input = JSON.stringify(ticket({ text: 'echo this' }));
    await runCli(['enqueue', '-'], { directory, environment, input });
    await up.wrote('"status":"sent"');
    const why = await runJson<{ stopReason: string }>(['why', 'test/c1'], {
      directory,
      environment,
    });
    up.child.kill('SIGTERM');
    const { code, stdout, stderr } = await up.ended;

    expect(stdout).toMatch(/^turnkeeper \d/);
    expect(stdout).toMatch(
      /redis +\S+ at 127\.0\.0\.1:\d+ \(started.*\), noeviction, append-only always {2}ok/,
    );
    expect(stdout).toMatch(/agent +echo, 0 tools, 0 skills, from .*turnkeeper\.config\.ts {2}ok/);
    expect(stdout).toMatch(/worker +10 conversations at a time, 1 lane, prefix tk, lock 3 s {2}ok/);
    expect(why.stopReason).toBe('replied');
    expect(stderr).not.toContain('echo this');
    expect(code).toBe(0);
    expect(existsSync(join(directory, '.data/redis/running.json'))).toBe(false);
    expect(() => process.kill(pid, 0)).toThrow('ESRCH');
  });

  test('joins the Redis of REDIS_URL, reports as JSON to whoever asks, and ends with 130 on Ctrl-C', async () => {
    const directory = directoryWith(agentFile());
    const up = startCli(['up', '--json'], { directory, environment: ownPrefix() });
    await up.wrote('"ready": true');

    up.child.kill('SIGINT');
    const { code, stdout } = await up.ended;

    expect(code).toBe(130);
    expect(JSON.parse(stdout)).toMatchObject({
      ready: true,
      checks: [{ part: 'redis', ok: true }, {}, {}],
    });
    expect(existsSync(join(directory, '.data'))).toBe(false);
  });
});

test('[P1] Ctrl-C reaches the whole process group, and the turn at hand still comes to rest', async () => {
  const untilCtrlC = `async () => {
    await new Promise((resolve) => process.once('SIGINT', resolve));
    return { kind: 'finish_candidate', reply: 'done' };
  }`;
  const directory = directoryWith(
    agentFile().replace(/scriptedModel\(.+\),/, `scriptedModel(${untilCtrlC}),`),
  );
  const environment = { REDIS_URL: undefined, LOG_LEVEL: 'info' };
  const up = startCli(['up'], { directory, environment, ownGroup: true });
  await up.wrote('Ready.');
  await runCli(['enqueue', '-'], { directory, environment, input: JSON.stringify(ticket()) });
  await up.wrote('"msg":"model_requested"');

  process.kill(-(up.child.pid ?? 0), 'SIGINT');
  const { code, stderr } = await up.ended;

  expect(code).toBe(130);
  expect(stderr).toMatch(/"outcome":"completed","stopReason":"replied"/);
  expect(stderr).not.toContain('ECONNREFUSED');
});

describe('worker', () => {
  test('answers what waits on the Redis of REDIS_URL and ends cleanly on SIGTERM', async () => {
    const directory = directoryWith(agentFile());
    const environment = ownPrefix();
    await runCli(['enqueue', '-'], { directory, environment, input: JSON.stringify(ticket()) });

    const worker = startCli(['worker'], { directory, environment });
    await worker.wrote('"status":"sent"');
    worker.child.kill('SIGTERM');
    const { code, stdout } = await worker.ended;

    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^worker ready: echo on redis:\/\/127\.0\.0\.1:\d+, 10 conversations at a time, 1 lane/,
    );
  });

  test('refuses at the start a tool without its whole contract, and leaves nothing running', async () => {
    const tool = "{ name: 'pay', effect: 'write', description: { use: '', avoid: '' } }";
    const directory = directoryWith(agentFile().replace('tools: []', `tools: [${tool}]`));

    const { code, stdout, stderr } = await runCli(['worker'], {
      directory,
      environment: ownPrefix(),
    });

    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(/^error: tool pay cannot be used: its contract lacks .*idempotency/);
  });
});

describe('a configuration that cannot be used', () => {
  test.each([
    [
      'nothing',
      undefined,
      /^error: there is no turnkeeper\.config\.ts in .+; create it with "export default/,
    ],
    [
      'a text that does not parse',
      'export default {',
      /^error: turnkeeper\.config\.ts does not parse: /,
    ],
    [
      'no default export',
      'export const agent = 1;',
      /^error: turnkeeper\.config\.ts has no default export; end it with/,
    ],
    [
      'a default export of another kind',
      'export default { rules: 1 };',
      /is no agent \(rules is missing or of the wrong kind\)/,
    ],
    [
      'an import of nothing',
      "import './missing.ts';",
      /^error: turnkeeper\.config\.ts cannot be loaded: Cannot find module/,
    ],
    [
      'a bad limit',
      agentFile('limits: { rounds: 0 },'),
      /^error: turnkeeper\.config\.ts cannot be loaded: limits\.rounds is /,
    ],
  ])('%s: one clear line, exit 2, no Redis started', async (_name, config, problem) => {
    const directory = config === undefined ? emptyDirectory() : directoryWith(config);

    const { code, stdout, stderr } = await runCli(['up'], {
      directory,
      environment: { REDIS_URL: undefined },
    });

    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(problem);
    expect(stderr.trimEnd().split('\n')).toHaveLength(1);
    expect(existsSync(join(directory, '.data'))).toBe(false);
  });

  test('--config names another file', async () => {
    const directory = emptyDirectory();
    writeFileSync(join(directory, 'other.ts'), agentFile());

    const { stdout } = await runCli(['doctor', '--config', 'other.ts'], {
      directory,
      environment: { REDIS_URL: inject('redisUrl'), ...ownPrefix() },
    });

    expect(stdout).toMatch(/^ok {4}config +echo, from .*other\.ts$/m);
  });
});
