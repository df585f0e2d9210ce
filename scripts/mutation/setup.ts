import { mkdirSync, writeFileSync } from 'node:fs';
import { afterAll, expect, vi } from 'vitest';

// Runs before each test file of a mutation run. The name of the file says which mutant is tried: risk.m12.test.ts.

const folder = process.env['MUTATION_DIR'] ?? '.';
const { testPath = '' } = expect.getState();
const tried = /\.m(?<id>\d+)\.test\.ts$/.exec(testPath)?.groups?.['id'];
const id = tried === undefined ? undefined : Number(tried);
const met = new Set<number>();

Object.assign(globalThis, {
  __m(mutant: number): boolean {
    if (id === undefined) met.add(mutant);
    return mutant === id;
  },
});
writeFileSync(`${folder}/running-${process.env['VITEST_POOL_ID'] ?? '1'}`, tried ?? '');
// What is computed once when a module is loaded must be computed with the mutant of this file.
vi.resetModules();

afterAll(() => {
  if (id !== undefined) return;
  mkdirSync(`${folder}/met`, { recursive: true });
  writeFileSync(`${folder}/met/${testPath.replaceAll('/', '_')}.json`, JSON.stringify([...met]));
});
