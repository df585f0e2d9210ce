import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';

const root = join(import.meta.dirname, '../..');

/** What the compiler says about the providers when a word is missing from their tables. */
function compiledWithout(words: readonly { file: string; line: string }[]): string {
  const copy = mkdtempSync(join(tmpdir(), 'turnkeeper-finish-'));
  onTestFinished(() => rmSync(copy, { recursive: true }));
  for (const name of ['contracts', 'loop', 'telemetry', 'models', 'calls']) {
    cpSync(join(root, 'src', name), join(copy, 'src', name), { recursive: true });
  }
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
  for (const name of ['tsconfig.json', 'package.json']) cpSync(join(root, name), join(copy, name));
  for (const { file, line } of words) {
    const path = join(copy, file);
    const text = readFileSync(path, 'utf8');
    expect(text).toContain(line);
    writeFileSync(path, text.replace(line, ''));
  }
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  return spawnSync(process.execPath, [tsc, '-p', copy], { cwd: copy, encoding: 'utf8' }).stdout;
}

test('[S3-24] [P9] an end of an answer that the SDK knows and we do not map does not compile', () => {
  const said = compiledWithout([
    { file: 'src/models/openai/finish.ts', line: "  content_filter: 'filter',\n" },
    { file: 'src/models/openai/finish.ts', line: "  queued: 'failed',\n" },
    { file: 'src/models/openai/finish.ts', line: "  max_output_tokens: 'length',\n" },
    { file: 'src/models/anthropic/finish.ts', line: "  refusal: 'refusal',\n" },
  ]);

  for (const word of ['content_filter', 'queued', 'max_output_tokens', 'refusal']) {
    expect(said).toMatch(new RegExp(`finish\\.ts.*\\n?.*${word}`));
  }
});
