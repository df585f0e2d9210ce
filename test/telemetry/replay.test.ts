import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readBack } from '../../src/cli/trace-file.ts';
import { readStory } from '../../src/cli/turn-story.ts';
import type { WatchedStep } from '../../src/cli/watch.ts';
import type { Records } from '../../src/store/records.ts';
import { playedTurn, playShop } from '../cli/played-shop.ts';
import { emptyDirectory, runCli, startCli } from '../cli/run-cli.ts';
import { ticket } from '../support/rig.ts';

type Line = { line: string; at: number; number?: number; event?: { type: string } };

async function exported() {
  const { store, id } = await playedTurn();
  const { stdout } = await runCli(['trace', 'export', id], { store });
  return { id, text: stdout, lines: stdout.trim().split('\n') };
}

/** What `trace check` says about these lines. */
async function checked(lines: readonly string[]) {
  const file = join(emptyDirectory(), 'turn.jsonl');
  writeFileSync(file, `${lines.join('\n')}\n`);
  const { code, stdout } = await runCli(['trace', 'check', file, '--json']);
  return { code, ...(JSON.parse(stdout) as { missing: { after: number; text: string }[] }) };
}

describe('[P15] an exported turn', () => {
  test('[S4-14] [S4-15] [S4-59] holds each request, answer, re-read and effect as a line of its own, in order', async () => {
    const { lines } = await exported();

    const parsed = lines.map((line) => JSON.parse(line) as Line);
    expect(parsed[0]).toMatchObject({ line: 'turn', lines: lines.length - 1 });
    const events = parsed.filter(({ line }) => line === 'event');
    expect(events.map(({ number }) => number)).toEqual(events.map((_, index) => index + 1));
    const kinds = events.map(({ event }) => event?.type);
    for (const kind of ['model_requested', 'call_settled', 'verification_read', 'turn_ended']) {
      expect(kinds).toContain(kind);
    }
    expect(parsed.filter(({ line }) => line === 'effect')).toHaveLength(2);
    expect((await checked(lines)).code).toBe(0);
  });

  test('[S4-14] a line that is missing is named, whichever it is', async () => {
    const { lines } = await exported();

    for (const index of lines.keys()) {
      if (index === 0) continue;
      const { turnId, records, gaps } = readBack(lines.toSpliced(index, 1).join('\n'));
      const { missing } = await readStory(records as Records, turnId);
      expect(gaps.length + missing.length, lines[index]).toBeGreaterThan(0);
    }
    const { code, missing } = await checked(lines.toSpliced(5, 1));
    expect(code).toBe(6);
    expect(missing[0]).toMatchObject({ after: 3, text: 'event 4 is not there' });
  });

  test('[P16] is redacted unless it is asked for as it is', async () => {
    const played = await playShop();
    await played.accept(ticket({ text: 'human! 4111 1111 1111 1111' }));
    await played.target.arrived('note', 1);
    const id = await played.turnId();
    const { store } = played;

    const { stdout } = await runCli(['trace', 'export', id], { store });
    const raw = await runCli(['trace', 'export', id, '--raw'], { store });

    expect(stdout).not.toMatch(/4111 1111|ana@example/);
    expect(stdout).toContain('[number]');
    expect(raw.stdout).toContain('4111 1111 1111 1111');
  });

  test('what is no exported turn is refused with the line that is wrong', async () => {
    const file = join(emptyDirectory(), 'turn.jsonl');
    writeFileSync(file, '{"line":"nonsense"}\n');

    const { code, stderr } = await runCli(['trace', 'check', file]);

    expect(code).not.toBe(0);
    expect(stderr).toContain('line 1');
    const nowhere = await runCli(['trace', 'check', `${file}.gone`]);
    expect(nowhere.code).toBe(2);
    expect(nowhere.stderr).toMatch(/turn\.jsonl\.gone cannot be read \(ENOENT\): name a file/);
  });
});

describe('turnkeeper watch', () => {
  test('[S4-59] tells every step of a turn that goes on meanwhile', async () => {
    const played = await playShop();
    const { child, wrote, ended } = startCli(['watch', '-o', 'jsonl', '--every', '50'], {
      store: played.store,
    });
    await wrote('watching');

    await played.accept(ticket({ text: 'cancel my order' }));
    await wrote('turn_ended');
    child.kill('SIGINT');

    const { stdout, code } = await ended;
    const steps = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as WatchedStep);
    expect(steps.map(({ step }) => step)).toEqual(steps.map((_, index) => index + 1));
    expect(steps.at(-1)).toMatchObject({ outcome: 'completed', stopReason: 'replied' });
    expect(code).toBe(130);
  });
});
