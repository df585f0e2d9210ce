import { redactPatterns } from './redaction-patterns.ts';

/** Paths of log objects that may hold what customers wrote or secrets. */
const REDACTED_PATHS = [
  'text',
  '*.text',
  'arguments',
  '*.arguments',
  'apiKey',
  '*.apiKey',
  'authorization',
  '*.authorization',
];

/** Replaces what looks like mail addresses, card, account and telephone numbers and keys. */
export const redactText = redactPatterns;

/**
 * The `redact` option of a pino logger: what may hold texts or secrets is left out; an error keeps its words, without the
 * addresses, numbers and keys that others wrote into it.
 */
export const LOG_REDACTION = {
  paths: [...REDACTED_PATHS, 'err'],
  censor: (value: unknown, path: readonly string[]): unknown =>
    path[0] === 'err' ? redactedDeeply(value) : '[Redacted]',
};

function redactedDeeply(value: unknown): unknown {
  if (typeof value === 'string') return redactText(value);
  if (Array.isArray(value)) return value.map(redactedDeeply);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [name, redactedDeeply(inner)]),
  );
}
