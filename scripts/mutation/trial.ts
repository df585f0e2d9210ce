import { copyFileSync, existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { createVitest, type Vitest } from 'vitest/node';
import type { Mutant } from './mutants.ts';

// The child of a mutation run: tries mutants until all are judged, or until one takes it into an endless loop.

/** By mutant: the test file that found it, or what else became of it. */
export type Verdicts = Record<number, string>;

/** Ends with it when a mutant went round in circles; somebody has to start a new child. */
export const STUCK = 9;

/** The test of a file of the loop, where it has another name. */
const ABOUT: Readonly<Record<string, string>> = {
  ...{ calls: 'decide', moves: 'decide', 'model-answers': 'decide', account: 'accounts' },
  ...{ voice: 'rounds', facts: 'view', admission: 'risk', opening: 'budgets', runner: 'budgets' },
};

const WORKERS = 2;
const BATCH = 40;
const STUCK_MS = 60_000;

export async function tryMutants(folder: string, files: readonly string[]): Promise<void> {
  const mutants = readJson<Mutant[]>(`${folder}/mutants.json`);
  const verdicts = readJson<Verdicts>(`${folder}/verdicts.json`);
  const vitest = await createVitest('test', {
    root: folder,
    config: false,
    watch: false,
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/global-setup.ts'],
    setupFiles: ['scripts/mutation/setup.ts'],
    reporters: [{}],
    pool: 'forks',
    isolate: false,
    maxWorkers: WORKERS,
    testTimeout: 20_000,
  });
  if (!existsSync(`${folder}/met`)) await withoutMutants(vitest, files);
  const watch = setInterval(() => endIfStuck(folder, verdicts), 1_000);
  // What a test file was written for is tried first: most mutants are found there.
  const rounds = [
    ...files.map((file) => ({ file, own: true })),
    ...files.map((file) => ({ file, own: false })),
  ];
  for (const { file, own } of rounds) {
    const met = new Set(readJson<number[]>(metFile(folder, file)));
    const alive = mutants.filter(
      ({ id, file: source }) =>
        verdicts[id] === undefined && met.has(id) && (!own || isAbout(file, source)),
    );
    if (alive.length === 0) continue;
    const startedAt = Date.now();
    for (let from = 0; from < alive.length; from += BATCH) {
      const ids = alive.slice(from, from + BATCH).map(({ id }) => id);
      for (const id of await killedBy(vitest, folder, file, ids)) verdicts[id] = file;
      writeFileSync(`${folder}/verdicts.json`, JSON.stringify(verdicts));
    }
    const killed = alive.filter(({ id }) => verdicts[id] !== undefined).length;
    console.log(`${file}: ${killed} of ${alive.length}, ${Date.now() - startedAt} ms`);
  }
  clearInterval(watch);
  await vitest.close();
}

/** All files once as they are: they must pass, and tell which mutants they come by. */
async function withoutMutants(vitest: Vitest, files: readonly string[]): Promise<void> {
  const failed = await failing(vitest, files);
  if (failed.length > 0) throw new Error(`without any mutant these fail: ${failed.join(', ')}`);
}

/** Tries each mutant against one test file, of which each gets a copy. */
async function killedBy(vitest: Vitest, folder: string, file: string, ids: readonly number[]) {
  const copies = new Map(ids.map((id) => [file.replace(/\.test\.ts$/, `.m${id}.test.ts`), id]));
  for (const copy of copies.keys()) copyFileSync(`${folder}/${file}`, `${folder}/${copy}`);
  const failed = await failing(vitest, [...copies.keys()]);
  for (const copy of copies.keys()) rmSync(`${folder}/${copy}`);
  return failed.flatMap((copy) => copies.get(copy) ?? []);
}

async function failing(vitest: Vitest, files: readonly string[]): Promise<string[]> {
  const { root } = vitest.config;
  const project = vitest.getRootProject();
  const specs = files.map((file) => project.createSpecification(path.join(root, file)));
  const { testModules } = await vitest.runTestSpecifications(specs);
  return testModules
    .filter((one) => one.state() === 'failed')
    .map(({ moduleId }) => path.relative(root, moduleId))
    .filter((file) => files.includes(file));
}

/** A mutant that gets nowhere counts as found. */
function endIfStuck(folder: string, verdicts: Verdicts): void {
  for (let worker = 1; worker <= WORKERS; worker += 1) {
    const running = `${folder}/running-${worker}`;
    if (!existsSync(running) || Date.now() - statSync(running).mtimeMs < STUCK_MS) continue;
    const id = readFileSync(running, 'utf8');
    if (id === '' || verdicts[Number(id)] !== undefined) continue;
    writeFileSync(
      `${folder}/verdicts.json`,
      JSON.stringify({ ...verdicts, [Number(id)]: 'an endless loop' }),
    );
    rmSync(running);
    process.exit(STUCK);
  }
}

function isAbout(test: string, source: string): boolean {
  const name = path.basename(source, '.ts');
  return path.basename(test, '.test.ts') === (ABOUT[name] ?? name);
}

function metFile(folder: string, file: string): string {
  return `${folder}/met/${path.join(folder, file).replaceAll('/', '_')}.json`;
}

function readJson<T>(file: string): T {
  return JSON.parse(readFileSync(file, 'utf8')) as T;
}
