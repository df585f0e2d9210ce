import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Enqueued } from '../../src/cli/enqueue.ts';
import type { TicketMessage } from '../../src/contracts/index.ts';
import { scriptedModel } from '../../src/models/index.ts';
import { startRig, ticket } from '../support/rig.ts';
import { emptyDirectory, runCli, runJson } from './run-cli.ts';

const echo = scriptedModel((view) => ({
  kind: 'finish_candidate',
  reply: `You said: ${view.messages[0]?.text}`,
}));

function lines(...rows: (TicketMessage | string)[]): string {
  return rows.map((row) => `${typeof row === 'string' ? row : JSON.stringify(row)}\n`).join('');
}

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

    expect([code, stderr]).toEqual([0, '']);
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
      '1 message accepted, 0 known already, 1 bad row\n',
    ]);
    expect(file.stderr).toBe(
      'line 3: requester.assurance is "certain": must be one of none, claimed, verified\n',
    );
    expect(piped).toMatchObject({ result: 'partial', accepted: 0, known: 1, bad: 1 });
    expect(rig.target.of('reply')).toEqual(['You said: Hello from 1']);
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
