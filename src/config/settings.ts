import { existsSync } from 'node:fs';
import { z } from 'zod';
import { TurnkeeperError } from '../contracts/index.ts';

/** A variable of the environment cannot be used: names it, its value and what would do. */
export class SettingsError extends TurnkeeperError {
  readonly code = 'settings';
  /** The variables, in the order of the message. */
  readonly variables: readonly string[];

  constructor(problems: readonly { variable: string; value: string; expected: string }[]) {
    super(
      problems
        .map(
          ({ variable, value, expected }) => `${variable} is ${JSON.stringify(value)}: ${expected}`,
        )
        .join('; '),
    );
    this.variables = problems.map(({ variable }) => variable);
  }
}

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;
const NODE_ENVS = ['development', 'test', 'production'] as const;

function wholeNumber(most: number, unset: string): z.ZodType<number> {
  const error = `must be a whole number from 1 to ${most}; unset it for ${unset}`;
  return z
    .string()
    .regex(/^\d{1,6}$/, { error })
    .transform(Number)
    .refine((value) => value >= 1 && value <= most, { error });
}

function oneOf<const T extends readonly string[]>(words: T, unset: string): z.ZodType<T[number]> {
  return z.enum(words, { error: `must be one of ${words.join(', ')}; unset it for ${unset}` });
}

const settingsSchema = z.object({
  /** Where Redis is. Unset: the server in .data/redis, which `up` starts. */
  REDIS_URL: z
    .string()
    .refine(isRedisUrl, {
      error: 'must be a URL such as redis://127.0.0.1:6379 or rediss://host:6380/0',
    })
    .optional(),
  /** Hash tags the keys are spread over. Unset: what this Redis was started with, 1 for a new one. */
  LANES: wholeNumber(1_024, 'the number this Redis was started with').optional(),
  /** Start of every key; deployments that share a Redis need one each. Default `tk`. */
  TURNKEEPER_PREFIX: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,32}$/, {
      error: 'must be 1-32 characters of A-Z, a-z, 0-9, "-" and "_"; unset it for tk',
    })
    .default('tk'),
  LOG_LEVEL: oneOf(LOG_LEVELS, 'info').default('info'),
  /** Conversations a worker process works on at a time, per lane. Default 10. */
  CONCURRENCY: wholeNumber(1_000, '10').default(10),
  /** Messages of a conversation answered before its slot goes to another one. Default 10. */
  MESSAGES_PER_WAKE_UP: wholeNumber(1_000, '10').default(10),
  /** Port of 127.0.0.1 on which a worker serves `/metrics`. Unset: it serves none. */
  METRICS_PORT: wholeNumber(65_535, 'no metrics').optional(),
  /** Address the metrics are served on. Default 127.0.0.1. */
  METRICS_HOST: z.string().default('127.0.0.1'),
  /** Base URL of an OTLP receiver. Unset: no traces are exported. */
  OTEL_EXPORTER_OTLP_ENDPOINT: z
    .url({ protocol: /^https?$/, error: 'must be a URL such as http://127.0.0.1:4318' })
    .optional(),
  /** Default development: a defect in a trace then stops the turn instead of being recorded. */
  NODE_ENV: oneOf(NODE_ENVS, 'development').default('development'),
});
export type Settings = z.infer<typeof settingsSchema>;

/** Reads a `.env` of the working directory into the environment; what is set already stands. */
export function loadEnvironmentFile(file = '.env'): void {
  if (existsSync(file)) process.loadEnvFile(file);
}

/** Everything the environment may say. An empty variable counts as unset. @throws SettingsError naming every bad one */
export function readSettings(environment: NodeJS.ProcessEnv = process.env): Settings {
  const given = Object.fromEntries(
    Object.keys(settingsSchema.shape).flatMap((name) => {
      const value = environment[name];
      return value === undefined || value === '' ? [] : [[name, value]];
    }),
  );
  const settings = settingsSchema.safeParse(given);
  if (settings.success) return settings.data;
  throw new SettingsError(
    settings.error.issues.map((issue) => {
      const variable = String(issue.path[0] ?? '');
      const value = environment[variable] ?? '';
      const shown = variable === 'REDIS_URL' ? maskedUrl(value) : value;
      return { variable, value: shown, expected: issue.message };
    }),
  );
}

/** The environment asks for text without colour. */
export function wantsPlainText(environment: NodeJS.ProcessEnv = process.env): boolean {
  return (environment['NO_COLOR'] ?? '') !== '' || environment['TERM'] === 'dumb';
}

/** A Redis URL as it may be shown: without its password. */
export function maskedUrl(url: string): string {
  return url.replace(/(^[a-z]+:\/\/[^:@/]*):[^@]*@/i, '$1:***@');
}

function isRedisUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  return ['redis:', 'rediss:'].includes(new URL(text).protocol);
}
