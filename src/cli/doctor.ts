import type { Command } from 'commander';
import { allChecks, type Check } from './doctor-checks.ts';
import { EXIT, type ExitCode } from './errors.ts';
import { perform, type Invocation } from './invocation.ts';
import type { Output } from './output.ts';
import { visible } from './visible-text.ts';

export function addDoctor(program: Command): void {
  program
    .command('doctor')
    .description('Checks what the promises depend on: one line each, with the fix.')
    .addHelpText(
      'after',
      '\nEnds with 0 when all is well, 6 when something deserves a look, 1 when it is broken.',
    )
    .action((_options: unknown, command: Command) => perform(command, doctor));
}

async function doctor({ settings, out, configFile }: Invocation): Promise<ExitCode> {
  const checks = await allChecks(settings, configFile);
  if (out.isText) for (const check of checks) out.write(lineOf(check, out));
  else out.list(checks, { id: (one) => one.check, columns: [], empty: '' });
  if (checks.some((one) => one.status === 'fail')) return EXIT.failed;
  return checks.some((one) => one.status === 'warn') ? EXIT.findings : EXIT.ok;
}

const MARKS = { ok: 'good', warn: 'attention', fail: 'bad' } as const;

function lineOf({ check, status, value, fix }: Check, out: Output): string {
  const mark = out.mark(MARKS[status], status.padEnd(4));
  return `${mark}  ${check.padEnd(18)}  ${visible(value)}${fix === null ? '' : `; ${visible(fix)}`}`;
}
