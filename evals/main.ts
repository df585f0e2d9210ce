import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { InvalidInputError, TurnkeeperError } from '../src/contracts/index.ts';
import { scriptedModel } from '../src/models/index.ts';
import { readCases, type EvalCase } from './case.ts';
import { compareRuns } from './compare.ts';
import { POLICIES, type PolicyName } from './policies.ts';
import { describeComparison, describeRun } from './report.ts';
import { runCases, type RunReport, type Subject } from './run.ts';

const USAGE = `npm run eval -- [options] [CASE …]
  (none)           all cases with the policy of the example
  --policy NAME    ${Object.keys(POLICIES).join(', ')}; with NAME@FILE, by the skill in FILE
  --compare A B    the difference between two runs: each a policy as above, or the file of an earlier run
  --json           JSON instead of tables
  --out FILE       keeps the run, to be compared with later ones`;

const { values, positionals } = parseArgs({
  options: {
    policy: { type: 'string', default: 'safe' },
    compare: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    out: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
  allowPositionals: true,
});

function subjectOf(text: string): Subject {
  const [name = '', skillFile] = text.split('@');
  if (!(name in POLICIES)) {
    const known = Object.keys(POLICIES).join(' or ');
    throw new InvalidInputError('policy', name, `is none; use ${known}, or the file of a run`);
  }
  const model = scriptedModel(POLICIES[name as PolicyName]);
  return { label: text, model, ...(skillFile === undefined ? {} : { skillFile }) };
}

function chosen(ids: readonly string[]): EvalCase[] {
  const cases = readCases();
  const unknown = ids.find((id) => !cases.some((one) => one.id === id));
  if (unknown !== undefined) {
    throw new InvalidInputError(
      'case',
      unknown,
      `is none of ${cases.map((one) => one.id).join(', ')}`,
    );
  }
  return ids.length === 0 ? cases : cases.filter(({ id }) => ids.includes(id));
}

async function runOf(text: string): Promise<RunReport> {
  if (existsSync(text)) {
    const kept = JSON.parse(readFileSync(text, 'utf8')) as RunReport;
    return { ...kept, label: text };
  }
  return runCases(readCases(), subjectOf(text));
}

async function compare([a, b]: readonly string[]): Promise<number> {
  if (a === undefined || b === undefined) {
    throw new InvalidInputError('--compare', positionals.join(' '), 'needs two runs');
  }
  const comparison = compareRuns(await runOf(a), await runOf(b));
  console.log(values.json ? JSON.stringify(comparison, null, 2) : describeComparison(comparison));
  return 0;
}

async function evaluate(ids: readonly string[]): Promise<number> {
  const report = await runCases(chosen(ids), subjectOf(values.policy));
  if (values.out !== undefined) writeFileSync(values.out, JSON.stringify(report));
  console.log(values.json ? JSON.stringify(report, null, 2) : describeRun(report));
  return report.cases.every(({ ok }) => ok) ? 0 : 1;
}

if (values.help) {
  console.log(USAGE);
} else {
  try {
    process.exitCode = await (values.compare ? compare(positionals) : evaluate(positionals));
  } catch (error) {
    if (!(error instanceof TurnkeeperError)) throw error;
    console.error(error.message);
    process.exitCode = 2;
  }
}
