/** The longest we believe a provider that tells us to wait; after it somebody looks again. Milliseconds. */
export const LONGEST_WAIT_MS = 300_000;

/**
 * When a provider asked us to come back, in milliseconds since the epoch: `retry-after-ms`, `retry-after` in seconds,
 * or as an HTTP date, which is read against the provider's own clock where it tells it.
 */
export function retryAtOf(headers: Headers, now: number): number | undefined {
  const wait = waitOf(headers, now);
  return wait === undefined
    ? undefined
    : now + Math.ceil(Math.min(Math.max(wait, 0), LONGEST_WAIT_MS));
}

function waitOf(headers: Headers, now: number): number | undefined {
  const milliseconds = numberOf(headers.get('retry-after-ms'));
  if (milliseconds !== undefined) return milliseconds;
  const after = headers.get('retry-after');
  const seconds = numberOf(after);
  if (seconds !== undefined) return seconds * 1_000;
  const date = dateOf(after);
  return date === undefined ? undefined : date - (dateOf(headers.get('date')) ?? now);
}

function numberOf(text: string | null): number | undefined {
  return text !== null && /^\s*\d+(\.\d+)?\s*$/.test(text) ? Number(text) : undefined;
}

function dateOf(text: string | null): number | undefined {
  return text?.endsWith(' GMT') === true ? Date.parse(text) || undefined : undefined;
}
