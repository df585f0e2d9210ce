import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, inject, onTestFinished, test } from 'vitest';
import type { Enqueued } from '../../src/cli/hand-in.ts';
import type { TicketMessage } from '../../src/contracts/index.ts';
import { scriptedModel } from '../../src/models/index.ts';
import { startRig, ticket } from '../support/rig.ts';
import { TcpProxy } from '../support/tcp-proxy.ts';
import { emptyDirectory, runCli, runJson, startCli } from './run-cli.ts';

const echo = scriptedModel((view) => ({
  kind: 'finish_candidate',
  reply: `You said: ${view.messages[0]?.text}`,
}));

function lines(...rows: (TicketMessage | string)[]): string {
  return rows.map((row) => `${typeof row === 'string' ? row : JSON.stringify(row)}\n`).join('');
}

/** What a person is told; a slow machine also tells how far it is. */
const told = (stderr: string): string =>
  stderr.replaceAll(/^.*[\d,]+ accepted, [\d,]+ known, [\d,]+ bad.*\n/gm, '');

describe('enqueue', () => {
  test('[P2] hands the rows of a file in, those of one conversation in their order', async () => {
    const rig = await startRig({ model: echo });
    const directory = emptyDirectory();
    const texts = Array.from({ length: 20 }, (_, index) => `message ${index}`);
    writeFileSync(join(directory, 't.jsonl'), lines(...texts.map((text) => ticket({ text }))));

    const { code, stdout, stderr } = await runCli(['enqueue', 't.jsonl'], {
      store: rig.store,
      directory,
    });
    await rig.startHost();
    await rig.target.arrived('reply', 20);

    expect([code, told(stderr)]).toEqual([0, '']);
    expect(stdout).toBe('20 messages accepted, 0 known already, 0 bad rows\n');
    expect(rig.target.of('reply')).toEqual(texts.map((text) => `You said: ${text}`));
  });

  test('[P1] doing it again counts every message as known and answers nothing twice', async () => {
    const rig = await startRig({ model: echo });
    await rig.startHost();
    const input = JSON.stringify(ticket({ deliveryId: 'd1' }), null, 2);

    const first = await runJson<Enqueued>(['enqueue', '-'], { store: rig.store, input });
    await rig.target.arrived('reply', 1);
    const again = await runJson<Enqueued>(['enqueue', '-'], { store: rig.store, input });

    expect(first).toMatchObject({ result: 'success', accepted: 1, known: 0, bad: 0 });
    expect(again).toMatchObject({ result: 'success', accepted: 0, known: 1, bad: 0 });
    expect(rig.target.of('reply')).toHaveLength(1);
  });

  test('a bad row is named by line, field, value and fix; the others are accepted and it ends with 6', async () => {
    const rig = await startRig({ model: echo });
    const bad = { ...ticket(), source: 'No Such' };
    const input = lines(
      ticket({ conversationId: 'a' }),
      JSON.stringify(bad),
      'nonsense',
      ticket({ conversationId: 'b' }),
    );

    const { code, stdout, stderr } = await runCli(['enqueue', '-', '-o', 'jsonl'], {
      store: rig.store,
      input,
    });

    expect(code).toBe(6);
    expect(stderr).toMatch(
      /^line 2: source is "No Such": must be the name .+\nline 3: row is not JSON: .+\n$/,
    );
    const events = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { line?: number; result: string });
    expect(events.at(-1)).toMatchObject({ result: 'partial', accepted: 2, known: 0, bad: 2 });
    expect(
      events
        .slice(0, -1)
        .map(({ line, result }) => `${line} ${result}`)
        .toSorted(),
    ).toEqual(['1 accepted', '2 bad', '3 bad', '4 accepted']);
    expect((await rig.records.conversation('test/b'))?.waiting).toBe(1);
  });

  test('a CSV goes the same way: by its name, or by --format on stdin', async () => {
    const rig = await startRig({ model: echo });
    await rig.startHost();
    const directory = emptyDirectory();
    const row = (id: string, who: string) => `test,csv,${id},ana,${who},Hello from ${id}\n`;
    const input = `source,conversationId,messageId,requester.id,requester.assurance,text\n${row('1', 'verified')}${row('2', 'certain')}`;
    writeFileSync(join(directory, 'export.CSV'), input);

    const file = await runCli(['enqueue', 'export.CSV'], { store: rig.store, directory });
    const piped = await runJson<Enqueued>(['enqueue', '-', '--format', 'csv'], {
      store: rig.store,
      input,
    });
    await rig.target.arrived('reply', 1);

    expect([file.code, file.stdout]).toEqual([
      6,
      '1 message accepted, 0 known already, 1 bad row, kept in export.rejected.jsonl\n',
    ]);
    expect(told(file.stderr)).toBe(
      'line 3: requester.assurance is "certain": must be one of none, claimed, verified\n',
    );
    expect(piped).toMatchObject({ result: 'partial', accepted: 0, known: 1, bad: 1 });
    expect(rig.target.of('reply')).toEqual(['You said: Hello from 1']);
  });

  test('bad rows are kept in a file beside the input, which can be corrected and handed in itself', async () => {
    const rig = await startRig({ model: echo });
    const directory = emptyDirectory();
    const kept = join(directory, 'week.rejected.jsonl');
    const bad = { ...ticket({ messageId: 'm2' }), source: 'No Such' };
    const rows = lines(ticket({ messageId: 'm1' }), JSON.stringify(bad), 'nonsense', '[7]');
    writeFileSync(join(directory, 'week.jsonl'), rows);
    const enqueue = (file: string) =>
      runJson<Enqueued>(['enqueue', file], { store: rig.store, directory });

    const first = await enqueue('week.jsonl');
    const written = readFileSync(kept, 'utf8');
    writeFileSync(kept, written.replaceAll('"No Such"', '"test"'));
    const second = await enqueue('week.rejected.jsonl');

    expect(first).toMatchObject({ accepted: 1, bad: 3, rejected: 'week.rejected.jsonl' });
    expect(statSync(kept).mode & 0o077).toBe(0);
    const [one, ...others] = written
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as object);
    expect(one).toMatchObject({
      ...bad,
      rejected: { line: 2, field: 'source', value: '"No Such"', fix: expect.any(String) },
    });
    expect(others).toMatchObject([
      { text: 'nonsense', rejected: { line: 3, field: 'row', value: 'not JSON' } },
      { text: '[7]', rejected: { line: 4, field: 'row', value: 'an array' } },
    ]);
    expect(second).toMatchObject({ accepted: 1, bad: 2, rejected: 'week.rejected.rejected.jsonl' });
    expect((await rig.records.conversation('test/c1'))?.waiting).toBe(2);
  });

  test('no file of bad rows is written when there is none, in a dry run, or over the file that is read', async () => {
    const rig = await startRig({ model: echo });
    const directory = emptyDirectory();
    const good = join(directory, 'good.jsonl');
    const rows = lines(ticket());
    writeFileSync(good, rows);
    writeFileSync(
      join(directory, 'bad.csv'),
      'source,conversationId,messageId,requester.id,requester.assurance,text\nx\n',
    );
    const run = (...args: string[]) =>
      runCli(['enqueue', ...args], { store: rig.store, directory });

    const whole = await runJson<Enqueued>(['enqueue', 'good.jsonl'], {
      store: rig.store,
      directory,
    });
    const dry = await run('bad.csv', '--dry-run');
    const itself = await run('good.jsonl', '--rejected', './good.jsonl');

    expect(whole.rejected).toBe(null);
    expect([dry.code, itself.code]).toEqual([6, 2]);
    expect(itself.stderr).toContain('is the file that is read');
    expect(readFileSync(good, 'utf8')).toBe(rows);
    const files = ['good.rejected.jsonl', 'bad.rejected.jsonl'];
    expect(files.filter((file) => existsSync(join(directory, file)))).toEqual([]);
  });

  test('a file for bad rows that cannot be written is wrong usage, and named', async () => {
    const rig = await startRig({ model: echo });

    const { code, stderr } = await runCli(['enqueue', '-', '--rejected', 'no/such/place.jsonl'], {
      ...{ store: rig.store, input: lines(ticket(), 'nonsense') },
    });

    expect(code).toBe(2);
    expect(stderr).toContain('no/such/place.jsonl cannot be written (ENOENT): name a file');
  });

  test('[P1] broken off because Redis went away, it is run again: every row is in, none twice', async () => {
    const rig = await startRig({ model: echo });
    const proxy = await TcpProxy.start(Number(new URL(inject('redisUrl')).port));
    onTestFinished(() => proxy.close());
    const rows = Array.from({ length: 3_000 }, (_, at) => ({
      conversationId: `c${at % 300}`,
      messageId: `m${at}`,
    }));
    const input = lines(...rows.map((row) => ticket(row)));

    const cut = startCli(['enqueue', '-', '-o', 'jsonl'], {
      ...{ store: rig.store, input },
      environment: { REDIS_URL: `redis://127.0.0.1:${proxy.port}` },
    });
    await cut.wrote('"result":"accepted"');
    await proxy.close();
    const { code, stderr } = await cut.ended;
    const again = await runJson<Enqueued>(['enqueue', '-'], { store: rig.store, input });

    expect([code, stderr]).toEqual([75, expect.stringContaining('run the same command again')]);
    expect(again.known).toBeGreaterThan(0);
    expect(again).toMatchObject({ bad: 0, accepted: 3_000 - again.known });
    const waiting = await Promise.all(
      Array.from(
        { length: 300 },
        async (_, at) => (await rig.records.conversation(`test/c${at}`))?.waiting,
      ),
    );
    expect(waiting).toEqual(Array.from({ length: 300 }, () => 10));
  });

  test('a text that is too long is accepted and cut once, with a marker', async () => {
    const rig = await startRig({ model: echo });
    await rig.startHost();

    await runCli(['enqueue', '-'], {
      store: rig.store,
      input: lines(ticket({ text: 'x'.repeat(100_009) })),
    });
    await rig.target.arrived('reply', 1);

    expect(rig.target.of('reply')[0]).toMatch(/x\n\[cut: 100000 of 100009 characters kept\]$/);
  });

  test('a dry run reads and checks every row and hands nothing in, without Redis', async () => {
    const environment = { REDIS_URL: undefined };

    const dry = await runCli(['enqueue', '-', '--dry-run'], {
      environment,
      input: lines(ticket(), '{}'),
    });

    expect(dry.code).toBe(6);
    expect(dry.stdout).toBe('1 message could be accepted, 0 known already, 1 bad row\n');
  });

  test('a file that is missing or a directory is wrong usage, with nothing on stdout', async () => {
    const directory = emptyDirectory();
    mkdirSync(join(directory, 'folder'));

    const [missing, folder] = await Promise.all([
      runCli(['enqueue', 'none.jsonl'], { directory }),
      runCli(['enqueue', 'folder'], { directory }),
    ]);

    expect([missing.code, missing.stdout, folder.code, folder.stdout]).toEqual([2, '', 2, '']);
    expect(missing.stderr).toMatch(/^error: none.jsonl cannot be read \(ENOENT\): name a file/);
    expect(folder.stderr).toMatch(/^error: folder is a directory: name a file/);
  });
});
