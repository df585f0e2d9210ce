import { existsSync } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { z } from 'zod';
import { TurnkeeperError } from '../contracts/index.ts';
import type { Agent } from './define-agent.ts';

export const CONFIG_FILE = 'turnkeeper.config.ts';

/** The agent's configuration cannot be used. One line: the file, what is wrong, what to do. */
export class AgentConfigError extends TurnkeeperError {
  readonly code = 'agent_config';
  readonly file: string;

  constructor(file: string, problem: string, options?: ErrorOptions) {
    super(problem, options);
    this.file = file;
  }
}

export type LoadedAgent = { agent: Agent; file: string };

/**
 * Loads the default export of the configuration.
 *
 * @param options.file default `turnkeeper.config.ts` in `directory`
 * @param options.directory default: the working directory
 * @throws AgentConfigError
 */
export async function loadAgent(
  options: { file?: string; directory?: string } = {},
): Promise<LoadedAgent> {
  const file = resolve(options.directory ?? '.', options.file ?? CONFIG_FILE);
  const name = basename(file);
  if (!existsSync(file)) {
    const where = options.file === undefined ? `in ${dirname(file)}` : `at ${file}`;
    throw new AgentConfigError(
      file,
      `there is no ${name} ${where}; create it with "export default defineAgent({…})", or name another ` +
        'file with --config',
    );
  }
  const exported = await importConfig(file);
  if (exported['default'] === undefined) {
    throw new AgentConfigError(
      file,
      `${name} has no default export; end it with "export default defineAgent({…})"`,
    );
  }
  const agent = agentShape.safeParse(exported['default']);
  if (!agent.success) {
    const field = agent.error.issues[0]?.path.join('.') ?? '';
    throw new AgentConfigError(
      file,
      `the default export of ${name} is no agent (${field || 'it'} is missing or of the wrong kind); ` +
        'export what defineAgent({…}) returns',
    );
  }
  return { agent: exported['default'] as Agent, file };
}

async function importConfig(file: string): Promise<Record<string, unknown>> {
  try {
    return (await import(pathToFileURL(file).href)) as Record<string, unknown>;
  } catch (error) {
    const problem = error instanceof Error ? firstLine(error.message) : String(error);
    const what = doesNotParse(error) ? 'does not parse' : 'cannot be loaded';
    throw new AgentConfigError(file, `${basename(file)} ${what}: ${problem}`, { cause: error });
  }
}

function doesNotParse(error: unknown): boolean {
  if (error instanceof SyntaxError) return true;
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return code === 'ERR_INVALID_TYPESCRIPT_SYNTAX' || code === 'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX';
}

function firstLine(text: string): string {
  return text.trim().split('\n', 1)[0] ?? '';
}

const callable = z.custom<unknown>((value) => typeof value === 'function');

/** What `defineAgent` returns, as far as its absence would be noticed late. */
const agentShape = z.object({
  rules: z.object({ name: z.string(), limits: z.record(z.string(), z.number()) }),
  tools: z.array(z.object({ name: z.string() })),
  skills: z.array(z.object({ name: z.string() })),
  model: z.object({ ask: callable, estimate: callable }),
  target: z.object({ send: callable, find: callable }),
});
