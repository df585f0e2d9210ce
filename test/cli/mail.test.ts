import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { DeadLetters } from '../../src/store/dead-letters.ts';
import { openStore } from '../support/store.ts';
import { agentFile } from './agent-file.ts';
import { emptyDirectory, runCli, runJson } from './run-cli.ts';

const SOURCE = `{ name: 'mail', type: 'mime', secrets: ['unused-by-a-pipe'], ownAddresses: ['support@example.com'] }`;
const OTHER = SOURCE.replace("'mail'", "'other'");

const MAIL = [
  'From: Ana <ana@customer.example>',
  'To: support+t81@example.com',
  'Subject: My order',
  'Message-ID: <m1@customer.example>',
  'Content-Type: text/plain; charset=iso-8859-1',
  '',
  'Gr\xfc\xdfe, where is it?',
  '',
].join('\r\n');

test('[P1] a mail from stdin is stored as the message of its conversation, and handed in again it is known', async () => {
  const { store, records } = await openStore();
  const options = { store, directory: withSources(SOURCE), input: latin1(MAIL) };

  const first = await runJson(['mail'], options);
  const again = await runJson(['mail'], options);

  expect([first, again]).toMatchObject([
    { result: 'accepted', source: 'mail', conversationId: 'mail/t81', why: null },
    { result: 'known', conversationId: 'mail/t81' },
  ]);
  const [message, ...more] = await records.notBegun('mail/t81');
  expect(message).toMatchObject({
    ...{ text: 'Grüße, where is it?', subject: 'My order', channel: 'email' },
    requester: { id: 'ana@customer.example', assurance: 'claimed' },
  });
  expect(more).toEqual([]);
});

test('an automatic reply is left alone, and the mail server is told that all is well', async () => {
  const { store, records } = await openStore();
  const input = MAIL.replace('Subject:', 'Auto-Submitted: auto-replied\r\nSubject:');

  const { code, stdout, stderr } = await runCli(['mail', '--json'], {
    ...{ store, directory: withSources(SOURCE), input },
  });

  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ result: 'ignored', why: 'auto_reply' });
  expect(stderr).toBe('ignored: auto_reply\n');
  expect(await records.notBegun('mail/t81')).toEqual([]);
});

test('what is no mail is kept as a dead letter instead of being sent back', async () => {
  const { store } = await openStore();

  const { code, stdout } = await runCli(['mail', '--json'], {
    ...{ store, directory: withSources(SOURCE), input: '\n\nnothing' },
  });

  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ result: 'dead_letter', why: 'no mail' });
  const letters = await new DeadLetters(store).list();
  expect(letters).toMatchObject([{ source: 'mail', why: 'no mail' }]);
});

test('[P1] while Redis does not answer it ends with 75, on which mail servers try again', async () => {
  const { code, stderr } = await runCli(['mail'], {
    ...{ directory: withSources(SOURCE), input: MAIL },
    environment: { REDIS_URL: 'redis://127.0.0.1:1' },
  });
  expect(code).toBe(75);
  expect(stderr).toContain('Redis does not answer');
});

test.each([
  { sources: '', args: [], what: 'the configuration has no source of type "mime"', name: 'none' },
  { sources: `${SOURCE}, ${OTHER}`, args: [], what: 'must be one of mail, other', name: 'two' },
  { sources: SOURCE, args: ['--source', 'post'], what: 'must be one of mail', name: 'another' },
])(
  'without the one source to hand it to it says what to do ($name)',
  async ({ sources, args, what }) => {
    const { store } = await openStore();
    const directory = withSources(sources);
    const { code, stderr } = await runCli(['mail', ...args], { store, directory, input: MAIL });
    expect(code).toBe(2);
    expect(stderr).toContain(what);
  },
);

function withSources(sources: string): string {
  const directory = emptyDirectory();
  writeFileSync(join(directory, 'turnkeeper.config.ts'), agentFile(`sources: [${sources}],`));
  return directory;
}

function latin1(text: string): Buffer {
  return Buffer.from(text, 'latin1');
}
