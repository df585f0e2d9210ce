/**
 * What customers write and systems print that must not be kept in clear: a pattern and what takes its place. The order
 * counts: a key may hold digits that look like a number. What is tried at every place of a text is bounded, so that none is slow.
 */
export const REDACTION_PATTERNS: readonly { what: string; pattern: RegExp; label: string }[] = [
  {
    what: 'private key block',
    pattern: /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g,
    label: '[key]',
  },
  {
    what: 'JSON web token',
    pattern: /\beyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?/g,
    label: '[key]',
  },
  {
    what: 'API key with a known start',
    pattern:
      /\b(?:(?:sk|pk|rk|tk|gh[opsru]|glpat|xox[abeprs]|npm|hf|whsec)[-_][\w-]{12,}|github_pat_\w{20,}|AKIA[0-9A-Z]{16}|AIza[\w-]{30,})/g,
    label: '[key]',
  },
  {
    what: 'credentials of an HTTP header',
    pattern: /\b(?:Bearer|Basic)\s+[\w+/.~-]{8,}=*/gi,
    label: '[key]',
  },
  {
    what: 'password in a URL',
    pattern: /(?<=\b[a-z][a-z0-9+.-]{1,16}:\/\/[^\s:@/]{0,64}:)[^\s@/]+(?=@)/gi,
    label: '[key]',
  },
  {
    what: 'secret with its name in front',
    pattern:
      /(?<=\b(?:password|passwd|passwort|secret|api[-_ ]?key|token|pin|cvv|cvc)["']?\s{0,4}[:=]\s{0,4}["']?)[^\s"',;]{3,}/gi,
    label: '[key]',
  },
  {
    what: 'mail address',
    pattern: /[\p{L}\p{N}._%+'-]{1,64}@[\p{L}\p{N}-]{1,63}(?:\.[\p{L}\p{N}-]{1,63}){1,8}/gu,
    label: '[mail]',
  },
  {
    what: 'IBAN',
    pattern: /\b[A-Z]{2}\d{2}(?:[ -]?[A-Z0-9]{4}){3,7}(?:[ -]?[A-Z0-9]{1,3})?\b/g,
    label: '[iban]',
  },
  {
    what: 'card or account number',
    pattern: /(?<![\w-])(?:\d[ .-]?){12,18}\d(?![\w-])/g,
    label: '[number]',
  },
  {
    // With a plus, or in groups after a zero or in brackets: an order number is neither.
    what: 'telephone number',
    pattern:
      /(?<![\w-])(?:\+\d{1,3}[ ./-]?(?:\(?\d{1,5}\)?[ ./-]?){1,5}\d{2,}|\(?0\d{2,5}\)?[ /-]\d{3,}(?:[ -]?\d{2,})*|\(\d{3}\) ?\d{3}-\d{4})(?![\w-])/g,
    label: '[phone]',
  },
];

/** Replaces everything above. */
export function redactPatterns(text: string): string {
  return REDACTION_PATTERNS.reduce(
    (current, { pattern, label }) => current.replaceAll(pattern, label),
    text,
  );
}
