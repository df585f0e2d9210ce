import { addressParser } from 'postal-mime';
import type { MailHeader } from '../machine-mail.ts';

/** The header lines of a mail as text, folded lines put back together. */
export function parseHeaders(block: string): MailHeader[] {
  return block
    .split(/\r?\n(?![ \t])/)
    .map((line) => /^([^:\s]+):([\s\S]*)$/.exec(line))
    .filter((line) => line !== null)
    .map(([, key = '', value = '']) => ({
      key: key.toLowerCase(),
      value: value
        .split(/\r?\n/)
        .map((part) => part.trim())
        .join(' ')
        .trim(),
    }));
}

/** Longer address fields are cut: nobody real writes to that many. */
const LONGEST_FIELD = 20_000;

/** The bare addresses of an address field. */
export function addresses(field: string | undefined): string[] {
  return addressParser((field ?? '').slice(0, LONGEST_FIELD), { flatten: true })
    .map(({ address = '' }) => address.trim())
    .filter((address) => address !== '');
}
