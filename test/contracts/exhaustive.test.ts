import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '../..');

/** Compiles a copy of the source with one text replaced; answers what the compiler says. */
function compiledWith(file: string, search: string, replacement: string): string {
  const copy = mkdtempSync(join(tmpdir(), 'turnkeeper-compile-'));
  try {
    cpSync(join(root, 'src'), join(copy, 'src'), { recursive: true });
    symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
    for (const name of ['tsconfig.json', 'package.json'])
      cpSync(join(root, name), join(copy, name));
    const path = join(copy, file);
    const text = readFileSync(path, 'utf8');
    expect(text).toContain(search);
    writeFileSync(path, text.replace(search, replacement));
    const tsc = spawnSync(
      process.execPath,
      [join(root, 'node_modules/typescript/bin/tsc'), '-p', copy],
      {
        cwd: copy,
        encoding: 'utf8',
      },
    );
    return tsc.stdout;
  } finally {
    rmSync(copy, { recursive: true });
  }
}

test('[S3-24] [P9] a new way for a model call to fail does not compile until the loop says what follows', () => {
  const said = compiledWith(
    'src/contracts/proposal.ts',
    "  'refusal',",
    "  'refusal',\n  'haunted',",
  );

  expect(said).toMatch(/src\/loop\/model-answers\.ts.*haunted/s);
});

test('[S3-11] a new event does not compile until the loop, the trace and the table know it', () => {
  const said = compiledWith(
    'src/contracts/event.ts',
    "  z.object({ type: z.literal('turn_failed'), at, code: z.string() }),",
    "  z.object({ type: z.literal('turn_failed'), at, code: z.string() }),\n  z.object({ type: z.literal('haunted'), at }),",
  );

  expect(said).toMatch(/src\/loop\/decide\.ts/);
  expect(said).toMatch(/src\/telemetry\/trace\.ts/);
});
