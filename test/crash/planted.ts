import { spawn } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Guard } from './guard.ts';
import type { Finding } from './judge.ts';
import { PLANTED_FAULTS, type PlantedFault } from './planted-faults.ts';

export const TREE = fileURLToPath(new URL('../..', import.meta.url));
const COPIED = ['package.json', 'src', 'examples', 'test/crash', 'test/support/tcp-proxy.ts'];
/** Scenarios wait most of the time: a few run side by side. */
const LANES = 2;

/** What a scenario said; `undefined` when it could not be played. */
type Played = readonly Finding[] | undefined;

/**
 * Plants each fault into a temporary copy of the tree and plays the scenario that must notice it. The tree itself is never
 * touched. Without any fault all of these scenarios must pass, else noticing would mean nothing.
 *
 * @param only names of planted faults; by default all
 * @returns whether all was as it must be
 */
export async function playPlanted(
  only: readonly string[] = [],
  say: (line: string) => void = console.log,
): Promise<boolean> {
  const faults = PLANTED_FAULTS.filter(({ name }) => only.length === 0 || only.includes(name));
  for (const fault of faults) plant(TREE, fault);
  const guard = new Guard();
  let ok = true;
  try {
    const scenarios = [...new Set(faults.map(({ scenario }) => scenario))];
    await inLanes(guard, scenarios, async (copy, scenario) => {
      const findings = await play(guard, copy, scenario);
      if (findings?.length === 0) return;
      ok = false;
      say(`NOT CLEAN without any fault: ${scenario}${firstOf(findings)}`);
    });
    say(`${scenarios.length} scenarios pass without any fault: ${ok ? 'yes' : 'NO'}`);
    let caught = 0;
    await inLanes(guard, faults, async (copy, fault) => {
      for (const [file, text] of plant(copy, fault)) writeFileSync(file, text);
      const findings = await play(guard, copy, fault.scenario);
      for (const { file } of fault.rewrites) cpSync(join(TREE, file), join(copy, file));
      const noticed = findings !== undefined && findings.length > 0;
      if (noticed) caught += 1;
      else ok = false;
      say(`${noticed ? 'caught' : 'MISSED'}  ${fault.name}${firstOf(findings)}`);
    });
    say(`${caught} of ${faults.length} planted faults were caught`);
  } finally {
    guard.release();
  }
  return ok;
}

/**
 * The files of a tree as they are with the fault in them.
 *
 * @throws Error when a text to rewrite is not there exactly once
 */
export function plant(tree: string, { name, rewrites }: PlantedFault): Map<string, string> {
  const files = new Map<string, string>();
  for (const { file, find, replace } of rewrites) {
    const path = join(tree, file);
    const text = files.get(path) ?? readFileSync(path, 'utf8');
    const times = text.split(find).length - 1;
    if (times !== 1) {
      throw new Error(
        `planted fault "${name}": ${file} has the text to rewrite ${times} times; bring test/crash/planted-faults.ts up to date: ${find}`,
      );
    }
    files.set(
      path,
      text.replace(find, () => replace),
    );
  }
  return files;
}

async function inLanes<T>(
  guard: Guard,
  work: readonly T[],
  step: (copy: string, item: T) => Promise<void>,
): Promise<void> {
  const left = [...work];
  const lanes = Array.from({ length: LANES }, async (_, lane) => {
    const copy = copyOfTree(guard, `lane-${lane}`);
    for (let item = left.shift(); item !== undefined; item = left.shift()) await step(copy, item);
  });
  await Promise.all(lanes);
}

function copyOfTree(guard: Guard, name: string): string {
  const copy = guard.path(name);
  mkdirSync(copy, { recursive: true });
  for (const path of COPIED) cpSync(join(TREE, path), join(copy, path), { recursive: true });
  const modules = join(copy, 'node_modules');
  try {
    symlinkSync(join(TREE, 'node_modules'), modules);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  return copy;
}

async function play(guard: Guard, copy: string, scenario: string): Promise<Played> {
  const child = spawn(process.execPath, [join(copy, 'test/crash/scenario.ts'), scenario], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  if (child.pid !== undefined) guard.started(child.pid);
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  await new Promise((resolve) => child.once('close', resolve));
  if (child.pid !== undefined) guard.ended(child.pid);
  try {
    return (JSON.parse(output.trim()) as { findings: Finding[] }).findings;
  } catch {
    return undefined;
  }
}

function firstOf(findings: Played): string {
  if (findings === undefined) return ': the scenario could not be played';
  const [first] = findings;
  return first === undefined ? '' : `: ${first.rule}: ${first.what}`.slice(0, 160);
}
