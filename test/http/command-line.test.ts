import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ApiKeys } from '../../src/store/api-keys.ts';
import { AuditLog } from '../../src/store/audit.ts';
import { openStore } from '../support/store.ts';
import { agentFile } from '../cli/agent-file.ts';
import { emptyDirectory, runCli, runJson, startCli } from '../cli/run-cli.ts';

const WHO = ['--by', 'ana', '--reason', 'a test'];

test('keys create tells a token once; keys list shows how it begins; keys revoke takes it away', async () => {
  const { store } = await openStore();
  const args = ['keys', 'create', '--name', 'desk', '--role', 'operator', '--role', 'approver'];
  const created = await runJson<{ id: string; token: string }>([...args, ...WHO], { store });
  expect(created.token.startsWith(`tk_${created.id}_`)).toBe(true);
  expect((await new ApiKeys(store).authenticate(created.token)).kind).toBe('valid');
  const list = await runCli(['keys', 'list'], { store });
  expect(list.stdout).toMatch(
    new RegExp(`${created.id} +tk_${created.id} +desk +operator, approver +all`),
  );
  expect(list.stdout).not.toContain(created.token);
  const revoked = await runJson(['keys', 'revoke', `tk_${created.id}`, ...WHO], { store });
  expect(revoked).toMatchObject({ id: created.id, revokedBy: 'ana' });
  expect((await new ApiKeys(store).authenticate(created.token)).kind).toBe('revoked');
  expect((await runCli(['keys', 'revoke', 'nobody', ...WHO], { store })).code).toBe(3);
});

test('a key with a role that does not exist, or that nobody answers for, is not made', async () => {
  const { store } = await openStore();
  const wrong = await runCli(['keys', 'create', '--name', 'x', '--role', 'boss', ...WHO], {
    store,
  });
  expect([wrong.code, wrong.stderr]).toEqual([
    2,
    expect.stringContaining('"boss": must be one of'),
  ]);
  const nobody = ['keys', 'create', '--name', 'x', '--role', 'admin', '--by', ' ', '--reason', 'r'];
  expect((await runCli(nobody, { store })).code).toBe(2);
  const dry = ['keys', 'create', '--name', 'x', '--role', 'admin', '--dry-run', ...WHO];
  expect((await runCli(dry, { store })).code).toBe(0);
  expect(await new ApiKeys(store).list()).toEqual([]);
  expect((await new AuditLog(store).head()).seq).toBe(0);
});

test('audit verify says that the log is whole and gives its head, or names the first bad record and ends with 6', async () => {
  const { store, redis, prefix } = await openStore();
  for (const name of ['one', 'two']) {
    await runCli(['keys', 'create', '--name', name, '--role', 'ingest', ...WHO], { store });
  }
  const records = await new AuditLog(store).records(1, 10);
  expect(records.map(({ action, actor, result }) => [action, actor, result])).toEqual([
    ['key.create', { id: 'cli', name: 'ana' }, undefined],
    ['key.create', { id: 'cli', name: 'ana' }, 'created'],
    ['key.create', { id: 'cli', name: 'ana' }, undefined],
    ['key.create', { id: 'cli', name: 'ana' }, 'created'],
  ]);
  const whole = await runCli(['audit', 'verify', '-q'], { store });
  expect([whole.code, whole.stdout.trim()]).toEqual([0, `4:${records.at(-1)?.hash ?? ''}`]);
  await redis.rpop(`{${prefix}0}:audit`);
  await redis.hset(`{${prefix}0}:audithead`, { seq: 3, hash: records[2]?.hash ?? '' });
  expect((await runCli(['audit', 'verify'], { store })).code).toBe(0);
  const cut = await runCli(['audit', 'verify', '--head', whole.stdout.trim()], { store });
  expect([cut.code, cut.stdout]).toEqual([6, expect.stringContaining('record 4 is missing')]);
});

test('api serves until it is asked to stop, and says where', async () => {
  const { store } = await openStore();
  const { token } = await new ApiKeys(store).create({ name: 'ana', roles: ['operator'], by: 't' });
  const directory = emptyDirectory();
  writeFileSync(join(directory, 'turnkeeper.config.ts'), agentFile());
  const api = startCli(['api', '--port', '0', '-o', 'jsonl'], { store, directory });
  const [line] = (await once(api.child.stdout, 'data')) as [string];
  const { url } = JSON.parse(line) as { url: string };
  const turns = await fetch(`${url}/v1/turns`, { headers: { authorization: `Bearer ${token}` } });
  expect([turns.status, await turns.json()]).toEqual([200, { turns: [] }]);
  api.child.kill('SIGTERM');
  expect((await api.ended).code).toBe(0);
});
