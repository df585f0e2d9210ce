import type { Command } from 'commander';
import { addKbEval } from './kb-eval.ts';
import { addKbIndex } from './kb-index.ts';
import { addKbRecords } from './kb-records.ts';
import { addKbSearch } from './kb-search.ts';

/** The documents an agent answers from. Retrieval is loaded by its commands only. */
export function addKb(program: Command): void {
  const kb = program.command('kb').description('The documents the agent answers from.');
  for (const add of [addKbIndex, addKbRecords, addKbSearch, addKbEval]) add(kb);
}
