/** How times, stretches of time, money and lists are said. */

/** Milliseconds since the epoch as ISO 8601 in UTC. */
export function iso(at: number): string {
  return new Date(at).toISOString();
}

export function isoOrNull(at: number | null | undefined): string | null {
  return at === null || at === undefined ? null : iso(at);
}

/** `2026-11-30 14:02:07Z`. */
export function day(at: number): string {
  return `${iso(at).slice(0, 19).replace('T', ' ')}Z`;
}

/** `14:02:07.120Z`. */
export function clock(at: number): string {
  return iso(at).slice(11);
}

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
] as const;

/** `120 ms`, `4.2 s`, `4 min 12 s`, `2 h 5 min`, `3 d 4 h`. */
export function duration(milliseconds: number): string {
  const ms = Math.max(0, Math.round(milliseconds));
  if (ms < 1_000) return `${ms} ms`;
  if (ms < 60_000) return `${Number((ms / 1_000).toFixed(1))} s`;
  const first = UNITS.findIndex(([, length]) => ms >= length);
  const [unit, length] = UNITS[first] ?? UNITS[3];
  const [smaller, smallerLength] = UNITS[first + 1] ?? UNITS[3];
  const rest = Math.floor((ms % length) / smallerLength);
  return `${Math.floor(ms / length)} ${unit}${rest === 0 ? '' : ` ${rest} ${smaller}`}`;
}

/** Micro-dollars as dollars. */
export function dollars(micros: number): string {
  return `$${(micros / 1_000_000).toFixed(4)}`;
}

/** `1 round`, `3 rounds`. */
export function count(number: number, noun: string, plural = `${noun}s`): string {
  return `${number.toLocaleString('en-US')} ${number === 1 ? noun : plural}`;
}

/** `a, b and c`. */
export function listed(items: readonly string[]): string {
  if (items.length < 2) return items.join('');
  return `${items.slice(0, -1).join(', ')} and ${items.at(-1) ?? ''}`;
}
