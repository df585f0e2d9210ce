#!/usr/bin/env node
import { enableCompileCache } from 'node:module';

/** Runs one command. Never throws: what went wrong is on stderr and in the exit code. */
export async function main(argv: readonly string[]): Promise<void> {
  // Kept between runs: a command starts in half the time.
  enableCompileCache();
  const { runCommandLine } = await import('./program.ts');
  await runCommandLine(argv);
}

if (import.meta.main) await main(process.argv);
