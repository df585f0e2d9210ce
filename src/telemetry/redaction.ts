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

const PATTERNS: readonly [RegExp, string][] = [
  [/[\w.+-]+@[\w-]+(?:\.[\w-]+)+/g, '[mail]'],
  [/\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){3,7}(?: ?[A-Z0-9]{1,3})?\b/g, '[iban]'],
  [/\b(?:\d[ -]?){12,18}\d\b/g, '[number]'],
  [/\b(?:sk|pk|tk|ghp|xox[bp])[-_][\w-]{12,}/g, '[key]'],
];

/** Replaces what looks like mail addresses, card and account numbers and keys. */
export function redactText(text: string): string {
  return PATTERNS.reduce((current, [pattern, label]) => current.replaceAll(pattern, label), text);
}
