import type { Command } from 'commander';
import { usageError } from './errors.ts';

/** Who does something to a turn or a conversation, and why; both stand in its record. */
export type ActOptions = { by: string; reason: string; dryRun?: boolean };

/** Adds the options every act of a person has. */
export function actOptions(command: Command): Command {
  return command
    .requiredOption('--by <name>', 'who does it; kept in the record')
    .requiredOption('--reason <text>', 'why; kept in the record and in the note to the ticket')
    .option('--dry-run', 'shows what would be done, and does nothing');
}

/** @throws CommandError when a name or a reason is blank */
export function refuseBlank(options: Readonly<Record<string, unknown>>, ...names: string[]): void {
  for (const name of names) {
    const value = options[name];
    if (typeof value !== 'string' || value.trim() === '')
      throw usageError(`--${name} is empty: ${BLANK[name] ?? 'say what it is'}`);
  }
}

const BLANK: Readonly<Record<string, string>> = {
  by: 'say who does this, for example --by ana',
  reason: 'say why',
  evidence: 'say how anybody can know, for example --evidence "refund 77 in the books of the bank"',
};
