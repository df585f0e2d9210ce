import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { startDeskFake, type DeskFake } from '../support/desks/desk-fake.ts';
import { openStore } from '../support/store.ts';
import { agentFile } from './agent-file.ts';
import { emptyDirectory, prefixOf, runCli, runJson, startCli } from './run-cli.ts';

test('[P1] a sweep by hand finds what was lost, says what it did, and changes nothing when it is run again', async () => {
  const { desk, directory } = await lost();
  const { store, records } = await openStore();
  const run = () => runJson(['sweep', '--since', '2h'], { store, directory });

  expect(await run()).toMatchObject([
    { source: 'chat', conversations: 1, found: 1, known: 0, bad: [], problem: null },
  ]);
  expect(await run()).toMatchObject([{ source: 'chat', found: 0, known: 1 }]);
  const { ticket } = desk;
  expect((await records.notBegun(`chat/${ticket}`)).map(({ text }) => text)).toEqual(['lost']);
});

test('a system that does not answer ends it with 75 and the name of what failed, and no secret is shown', async () => {
  const { desk, directory } = await lost();
  const { store } = await openStore();
  desk.fake.fail({ how: 'status', status: 401 });

  const { code, stdout, stderr } = await runCli(['sweep', '--json', '--since', '2h'], {
    ...{ store, directory },
  });

  expect(code).toBe(75);
  expect(JSON.parse(stdout)).toMatchObject([{ source: 'chat', since: null, found: 0 }]);
  expect(stderr).toContain('answered 401');
  expect(stdout + stderr).not.toContain('chatwoot-api-token');
});

test.each([
  [['--since', 'yesterday'], 2, 'It must be like 90m'],
  [['--since', '2999-01-01'], 2, 'It lies ahead'],
  [['--source', 'nobody'], 3, 'there is no source nobody'],
  [['--source', 'bare'], 2, 'give it an `api`'],
] as const)('%j is refused', async (args, exit, what) => {
  const { directory } = await lost();
  const { store } = await openStore();
  const { code, stderr } = await runCli(['sweep', ...args], { store, directory });
  expect([code, stderr]).toEqual([exit, expect.stringContaining(what)]);
});

test('[P1] the service looks by itself when it starts, and warns of sources nobody can look through', async () => {
  const { desk, directory } = await lost();
  const { store, records } = await openStore();
  // The end of a sweep long ago.
  await store.redis.set(`{${prefixOf(store)}0}:sweep:chat`, Date.now() - 3_600_000);
  const api = startCli(['api', '--port', '0', '--sweep-every', '3600'], { store, directory });
  await api.wrote('"source":"bare"');
  await api.wrote('source looked through');
  api.child.kill('SIGTERM');

  expect((await api.ended).code).toBe(0);
  expect(await records.notBegun(`chat/${desk.ticket}`)).toMatchObject([{ text: 'lost' }]);
});

/** A Chatwoot with a message whose event went nowhere, and the configuration for it. */
async function lost(): Promise<{ desk: { fake: DeskFake; ticket: string }; directory: string }> {
  const fake = await startDeskFake('chatwoot');
  onTestFinished(() => fake.close());
  const ticket = fake.openTicket();
  fake.say(ticket, 'lost');
  const directory = emptyDirectory();
  const ingress = fileURLToPath(new URL('../../src/producers/ingress/index.ts', import.meta.url));
  const secrets = "secrets: ['a-long-enough-secret']";
  const sources = `sources: [
    { name: 'chat', type: 'chatwoot', ${secrets}, api: httpApi(${JSON.stringify(fake.api())}) },
    { name: 'bare', type: 'chatwoot', ${secrets} },
  ],`;
  writeFileSync(
    join(directory, 'turnkeeper.config.ts'),
    `import { httpApi } from ${JSON.stringify(ingress)};\n${agentFile(sources)}`,
  );
  return { desk: { fake, ticket }, directory };
}
