import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { readCases } from '../../evals/case.ts';
import { compareRuns } from '../../evals/compare.ts';
import { POLICIES } from '../../evals/policies.ts';
import { describeComparison } from '../../evals/report.ts';
import { runCases } from '../../evals/run.ts';
import { scriptedModel } from '../../src/models/index.ts';

const MAIN = fileURLToPath(new URL('../../evals/main.ts', import.meta.url));
const SKILL = new URL('../../examples/technova/skills/cancel-and-refund/SKILL.md', import.meta.url);

const safe = { label: 'safe', model: scriptedModel(POLICIES.safe) };
const naive = { label: 'naive', model: scriptedModel(POLICIES.naive) };
const cases = readCases().filter(({ id }) => ['legal-threat', 'ships-in-between'].includes(id));

type Exit = { code: number; stdout: string; stderr: string };

async function evaluate(...args: string[]): Promise<Exit> {
  try {
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [MAIN, ...args]);
    return { code: 0, stdout, stderr };
  } catch (error) {
    return error as Exit;
  }
}

function temporaryFile(name: string, text = ''): string {
  const folder = mkdtempSync(join(tmpdir(), 'turnkeeper-evals-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, name);
  writeFileSync(file, text);
  return file;
}

test('two policies differ case by case, each difference at its level', async () => {
  const comparison = compareRuns(await runCases(cases, safe), await runCases(cases, naive));

  const [ships, legal] = comparison.differences;
  expect(ships).toMatchObject({ id: 'ships-in-between', a: true, b: false });
  expect(ships?.changes).toContainEqual({
    kind: 'outcome',
    what: 'turns',
    a: ['completed/declined'],
    b: ['escalated/finish_rejected'],
  });
  expect(legal?.changes.map(({ kind }) => kind)).toContain('history');
  const text = describeComparison(comparison);
  expect(text).toContain('legal-threat: effects [] -> ["cancel 10-48300"');
  expect(text).toContain('2 cases differ, 0 are the same');
});

test('two versions of a skill are told apart, also where all cases come out the same', async () => {
  const skillFile = temporaryFile('SKILL.md', `${readFileSync(SKILL, 'utf8')}\n7. Say thanks.\n`);

  const { a, b, differences, same } = compareRuns(
    await runCases(cases, safe),
    await runCases(cases, { ...safe, label: 'other skill', skillFile }),
  );

  expect(a.skills['cancel-and-refund']).toMatch(/^[0-9a-f]+$/);
  expect(a.skills['cancel-and-refund']).not.toBe(b.skills['cancel-and-refund']);
  expect([differences, same]).toEqual([[], 2]);
});

test('a run is kept in a file, printed as JSON, and compared with later ones', async () => {
  const file = temporaryFile('run.json');

  const run = await evaluate('thanks', '--out', file, '--json');
  const compared = await evaluate('--compare', file, file);

  expect([run.code, compared.code]).toEqual([0, 0]);
  expect(JSON.parse(run.stdout)).toMatchObject({
    label: 'safe',
    cases: [{ id: 'thanks', ok: true, findings: { turns: ['completed/no_reply_needed'] } }],
  });
  expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual(JSON.parse(run.stdout));
  expect(compared.stdout).toContain('0 cases differ, 1 are the same');
});

test('a case or a policy that does not exist ends with one line that names those that do', async () => {
  const noCase = await evaluate('no-such-case');
  const noPolicy = await evaluate('--policy', 'hasty');

  expect([noCase.code, noPolicy.code]).toEqual([2, 2]);
  expect(noCase.stderr).toMatch(/no-such-case.*thanks/);
  expect(noPolicy.stderr).toMatch(/hasty.*safe or naive/);
});
