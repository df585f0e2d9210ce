import type { Command } from 'commander';
import { z } from 'zod';
import {
  loadEnvironmentFile,
  readSettings,
  wantsPlainText,
  type Settings,
} from '../config/index.ts';
import { usageError, type ExitCode } from './errors.ts';
import { FORMATS, Output } from './output.ts';

/** One run of one command: what it was told, and where it writes. */
export type Invocation = {
  settings: Settings;
  out: Output;
  /** `--config`. Default: turnkeeper.config.ts of the working directory. */
  configFile?: string;
};

const globalOptions = z.object({
  config: z.string().optional(),
  output: z.enum(FORMATS).optional(),
  json: z.boolean().optional(),
  quiet: z.boolean().optional(),
  color: z.boolean().default(true),
});

/** Runs a command and keeps the code it ends with; without one it ends with 0. */
export async function perform(
  command: Command,
  work: (invocation: Invocation) => Promise<ExitCode | void>,
): Promise<void> {
  const given = globalOptions.safeParse(command.optsWithGlobals());
  if (!given.success) {
    const value = String(given.error.issues[0]?.input ?? command.optsWithGlobals()['output']);
    throw usageError(`--output is ${JSON.stringify(value)}: must be one of ${FORMATS.join(', ')}`);
  }
  loadEnvironmentFile();
  const { config, output = 'table', json, quiet, color } = given.data;
  const format = quiet === true ? 'id' : json === true ? 'json' : output;
  const out = new Output({ format, colour: color && process.stdout.isTTY && !wantsPlainText() });
  const settings = readSettings();
  const code = await work({
    settings,
    out,
    ...(config === undefined ? {} : { configFile: config }),
  });
  if (code !== undefined) process.exitCode = code;
}
