import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const folder = new URL('../../src/loop/', import.meta.url);
const source = (name: string): string => readFileSync(new URL(name, folder), 'utf8');
const files = readdirSync(folder);

function codeLines(name: string): number {
  return source(name)
    .split('\n')
    .filter((line) => line.trim() !== '' && !/^\s*(\/\/|\/\*|\*)/.test(line)).length;
}

test('[S1-16] what decides (table, decisions, checks) stays below 500 lines, and no file of the loop is over 350', () => {
  const core = ['transitions.ts', 'decide.ts', 'check.ts'].map(codeLines);

  expect(core.reduce((sum, lines) => sum + lines, 0)).toBeLessThan(500);
  expect(files.filter((name) => codeLines(name) > 350)).toEqual([]);
});

test('[S1-16] the loop knows no queue, no database, no clock, no chance and no network', () => {
  for (const name of files) {
    const text = source(name).replaceAll(/\/\*\*[\s\S]*?\*\/|\/\/.*$/gm, '');
    expect(text, name).not.toMatch(
      /Date\.now|new Date\(\)|Math\.random|randomUUID|setTimeout|fetch\(/,
    );
    const imports = [...text.matchAll(/from '([^.'][^']*)'/g)].map(([, from]) => from);
    expect(
      imports.filter((from) => !['node:crypto', 'canonicalize'].includes(from ?? '')),
      name,
    ).toEqual([]);
  }
});
