import { redactPatterns } from './redaction-patterns.ts';

/** Paths of log objects that may hold what customers wrote or secrets. */
export const REDACTED_PATHS = [
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
