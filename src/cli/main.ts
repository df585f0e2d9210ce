#!/usr/bin/env node
import { CommanderError } from 'commander';
import { EXIT } from './errors.ts';
import { buildProgram } from './program.ts';
import { reportProblem } from './report-problem.ts';

/** Runs one command. Never throws: what went wrong is on stderr and in the exit code. */
export async function main(argv: readonly string[]): Promise<void> {
  endWhenNobodyReads();
  try {
    await buildProgram(argv).parseAsync([...argv]);
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return;
    process.exitCode = reportProblem(error, argv);
  }
}

/** A closed pipe (`| head`) has got what it wanted. */
function endWhenNobodyReads(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    process.exit(error.code === 'EPIPE' ? EXIT.ok : EXIT.failed);
  });
  process.stderr.on('error', () => {});
}

if (import.meta.main) await main(process.argv);
