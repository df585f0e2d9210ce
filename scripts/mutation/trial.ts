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
  ...{ moves: 'decide', 'model-answers': 'model-failures', asking: 'model-failures' },
  ...{ account: 'accounts', facts: 'view', check: 'planned-effects', 'under-way': 'waiting' },
  ...{ reservation: 'waiting', 'open-turn': 'calls', admission: 'risk', opening: 'budgets' },
  ...{ runner: 'budgets' },
};

const WORKERS = 2;
const BATCH = 20;
/** Longer a test file takes only when it goes round in circles. Seconds. */
const STUCK_S = { loop: 20, workers: 120 };

export async function tryMutants(folder: string, files: readonly string[]): Promise<void> {
  const mutants = readJson<Mutant[]>(`${folder}/mutants.json`);
  const verdicts = readJson<Verdicts>(`${folder}/verdicts.json`);
  // What an earlier child has tried already.
  const tried = new Set(readJson<string[]>(`${folder}/tried.json`));
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
    // A mutant may collect without end.
    execArgv: ['--max-old-space-size=1024'],
    testTimeout: 20_000,
  });
  if (!existsSync(`${folder}/met`)) await withoutMutants(vitest, files);
  let limit = STUCK_S.loop;
  const ages = new Map<string, number>();
  const watch = setInterval(() => endIfStuck(folder, verdicts, ages, limit), 1_000);
  // What a test file was written for is tried first: most mutants are found there.
  const rounds = [
    ...files.map((file) => ({ file, own: true })),
    ...files.map((file) => ({ file, own: false })),
  ];
  for (const { file, own } of rounds) {
    const met = new Set(readJson<number[]>(metFile(folder, file)));
    const alive = mutants.filter(
      ({ id, file: source }) =>
        verdicts[id] === undefined &&
        met.has(id) &&
        !tried.has(`${file} ${id}`) &&
        (!own || isAbout(file, source)),
    );
    if (alive.length === 0) continue;
    limit = file.includes('/workers/') ? STUCK_S.workers : STUCK_S.loop;
    const startedAt = Date.now();
    for (let from = 0; from < alive.length; from += BATCH) {
      const ids = alive.slice(from, from + BATCH).map(({ id }) => id);
      for (const id of await killedBy(vitest, folder, file, ids)) verdicts[id] = file;
      for (const id of ids) tried.add(`${file} ${id}`);
      writeFileSync(`${folder}/verdicts.json`, JSON.stringify(verdicts));
      writeFileSync(`${folder}/tried.json`, JSON.stringify([...tried]));
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

/**
 * Runs every second. A mutant that gets nowhere counts as found; the worker that has it is lost, and this process with it.
 * Looks are counted, not time: a machine that was halted proves nothing.
 */
function endIfStuck(
  folder: string,
  verdicts: Verdicts,
  ages: Map<string, number>,
  limit: number,
): void {
  const stuck: string[] = [];
  for (let worker = 1; worker <= WORKERS; worker += 1) {
    const file = `${folder}/running-${worker}`;
    if (!existsSync(file)) continue;
    const since = `${worker} ${statSync(file).mtimeMs}`;
    ages.set(since, (ages.get(since) ?? 0) + 1);
    const id = readFileSync(file, 'utf8');
    if ((ages.get(since) ?? 0) > limit && id !== '' && verdicts[Number(id)] === undefined) {
      stuck.push(id);
    }
  }
  if (stuck.length === 0) return;
  const found = Object.fromEntries(stuck.map((id) => [id, 'an endless loop']));
  writeFileSync(`${folder}/verdicts.json`, JSON.stringify({ ...verdicts, ...found }));
  for (let worker = 1; worker <= WORKERS; worker += 1) {
    rmSync(`${folder}/running-${worker}`, { force: true });
  }
  process.exit(STUCK);
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
