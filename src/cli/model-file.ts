import { accessSync, appendFileSync, constants } from 'node:fs';
import { resolve } from 'node:path';
import { Option, type Command } from 'commander';
import { z } from 'zod';
import type { LoadedAgent } from '../config/index.ts';
import { recording, replayModel } from '../models/index.ts';
import { usageError } from './errors.ts';

/** Options of commands that start workers: their model writes its answers to a file, or plays those of one. */
export function addModelFile(command: Command): Command {
  return command
    .addOption(
      new Option(
        '--record <file>',
        'write down how the model answers, one exchange a line, without secrets',
      ).conflicts('replay'),
    )
    .addOption(new Option('--replay <file>', 'play what --record wrote instead of asking a model'));
}

const optionsSchema = z.object({ record: z.string().optional(), replay: z.string().optional() });

/**
 * The agent with the model that the options ask for.
 *
 * @throws CommandError when the file cannot be used; InvalidInputError naming the line that is no exchange
 */
export function withModelFile(loaded: LoadedAgent, options: unknown): LoadedAgent {
  const { record, replay } = optionsSchema.parse(options);
  const { agent } = loaded;
  if (replay !== undefined) {
    usable('--replay', replay, (file) => accessSync(file, constants.R_OK));
    return { ...loaded, agent: { ...agent, model: replayModel(resolve(replay)) } };
  }
  if (record === undefined) return loaded;
  usable('--record', record, (file) => appendFileSync(file, '', { mode: 0o600 }));
  return { ...loaded, agent: { ...agent, model: recording(agent.model, resolve(record)) } };
}

function usable(option: string, file: string, look: (file: string) => void): void {
  try {
    look(file);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
    throw usageError(`${option} ${file}: the file cannot be used (${code})`);
  }
}
