import { spawn } from 'node:child_process';
import {
  cpSync,
  globSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { instrument, type Mutant } from './mutation/mutants.ts';
import { STUCK, tryMutants, type Verdicts } from './mutation/trial.ts';

// Puts small defects into src/loop, one at a time, in a copy of the project, and tells which ones no test notices.
//   node scripts/mutate-loop.ts [--files=check,risk] [--out=<file.json>] [--resume=<folder of a run that was cut off>]

const ROOT = new URL('../', import.meta.url).pathname;
/** Types, re-exports and error classes hold nothing to break. */
const LEFT_OUT = new Set(['errors', 'index', 'ports', 'state']);
const COPIED = ['src', 'test', 'examples', 'scripts', 'package.json', 'tsconfig.json'];
/** Quick ones first: most mutants are found before the slow ones have their turn. */
const TESTS = [
  ...['decide', 'transitions', 'accounts', 'check', 'identity', 'calls', 'model-failures'],
  ...[
    'planned-effects',
    'waiting',
    'voice',
    'finish',
    'finish-judged',
    'view',
    'conflicts',
    'provenance',
  ],
  ...['repetition', 'rounds', 'risk', 'budgets'],
].map((name) => `test/loop/${name}.test.ts`);
const SLOW_TESTS = ['approval', 'control-plane', 'toy-agent', 'supersede', 'three-layers'].map(
  (name) => `test/workers/${name}.test.ts`,
);
const LAST_TESTS = ['test/loop/no-double-effect.test.ts', 'test/loop/budget-property.test.ts'];

type Judged = Mutant & { foundBy: string | null };

const option = (name: string): string | undefined =>
  process.argv.find((one) => one.startsWith(`--${name}=`))?.slice(name.length + 3);

if (process.argv[2] === '--try') {
  const [, , , folder = '', ...files] = process.argv;
  await tryMutants(folder, files);
  process.exit(0);
}

const resumed = option('resume');
const folder = resumed ?? realpathSync(mkdtempSync(path.join(tmpdir(), 'mutate-loop-')));
try {
  const mutants =
    resumed === undefined
      ? copyWithMutants(option('files')?.split(','))
      : (JSON.parse(readFileSync(`${folder}/mutants.json`, 'utf8')) as Mutant[]);
  console.log(`${mutants.length} mutants in ${folder}`);
  const there = new Set(globSync('test/**/*.test.ts', { cwd: folder }));
  const tests = [...TESTS, ...SLOW_TESTS, ...LAST_TESTS].filter((file) => there.has(file));
  let code = STUCK;
  while (code === STUCK) code = await runChild(tests);
  if (code !== 0) throw new Error(`the trial ended with ${code}`);
  const verdicts = JSON.parse(readFileSync(`${folder}/verdicts.json`, 'utf8')) as Verdicts;
  const judged = mutants.map((one): Judged => ({ ...one, foundBy: verdicts[one.id] ?? null }));
  for (const one of judged.filter(({ foundBy }) => foundBy === null)) console.log(lineOf(one));
  console.log(tableOf(judged));
  const out = option('out');
  if (out !== undefined) writeFileSync(out, JSON.stringify(judged, null, 1));
} finally {
  rmSync(folder, { recursive: true, force: true });
}

function copyWithMutants(only: readonly string[] | undefined): Mutant[] {
  for (const one of COPIED) cpSync(ROOT + one, `${folder}/${one}`, { recursive: true });
  symlinkSync(`${ROOT}node_modules`, `${folder}/node_modules`);
  const mutants: Mutant[] = [];
  for (const file of globSync('src/loop/*.ts', { cwd: ROOT }).toSorted()) {
    const name = path.basename(file, '.ts');
    if (LEFT_OUT.has(name) || (only !== undefined && !only.includes(name))) continue;
    const made = instrument(file, readFileSync(ROOT + file, 'utf8'), mutants.length);
    writeFileSync(`${folder}/${file}`, made.text);
    mutants.push(...made.mutants);
  }
  writeFileSync(`${folder}/mutants.json`, JSON.stringify(mutants));
  writeFileSync(`${folder}/verdicts.json`, '{}');
  writeFileSync(`${folder}/tried.json`, '[]');
  return mutants;
}

async function runChild(tests: readonly string[]): Promise<number> {
  const child = spawn(process.execPath, [import.meta.filename, '--try', folder, ...tests], {
    cwd: folder,
    env: { ...process.env, MUTATION_DIR: folder, PROPERTY_RUNS: '25', NODE_ENV: 'test' },
    stdio: 'inherit',
  });
  const [code] = (await once(child, 'exit')) as [number | null];
  return code ?? 1;
}

function lineOf({ file, line, kind, before, after }: Judged): string {
  const short = (text: string): string => text.replaceAll(/\s+/g, ' ').slice(0, 80);
  return `not found: ${file}:${line} ${kind}: ${short(before)} -> ${short(after)}`;
}

function tableOf(judged: readonly Judged[]): string {
  const rows = [...new Set(judged.map(({ file }) => file)), 'all'].map((file) => {
    const own = judged.filter((one) => file === 'all' || one.file === file);
    const found = own.filter(({ foundBy }) => foundBy !== null).length;
    return `| ${file} | ${own.length} | ${found} | ${((100 * found) / own.length).toFixed(0)} % |`;
  });
  return ['', '| file | mutants | found | share |', '|---|---|---|---|', ...rows].join('\n');
}
