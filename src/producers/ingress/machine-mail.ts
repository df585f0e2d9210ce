/** Mailboxes nobody reads. */
const MACHINES =
  /^(mailer-daemon|postmaster|bounces?|(no|do[._-]?not|dont)[._-]?reply)([+._=-].*)?$/;

export type MailHeader = { key: string; value: string };

export function isMachineAddress(address: string | undefined): boolean {
  const local = address?.toLowerCase().split('@')[0];
  return local !== undefined && MACHINES.test(local);
}

/** Whether an address is one of these, also with a tag after a plus. */
export function isOneOf(address: string | undefined, addresses: readonly string[]): boolean {
  if (address === undefined) return false;
  const plain = withoutTag(address);
  return addresses.some((one) => one.toLowerCase() === plain);
}

/** `support+t81@example.com` is `support@example.com`. */
function withoutTag(address: string): string {
  const plain = address.trim().toLowerCase();
  const at = plain.lastIndexOf('@');
  const [local = ''] = plain.slice(0, Math.max(0, at)).split('+', 1);
  return `${local}${plain.slice(at)}`;
}

/** What says that a mail was not written by a person, or asks not to be answered by a machine: RFC 3834 and its kin. */
const SIGNS: ReadonlyMap<string, (value: string) => boolean> = new Map([
  ['auto-submitted', (value: string) => value !== 'no'],
  ['precedence', (value: string) => ['bulk', 'junk', 'list', 'auto_reply'].includes(value)],
  ['return-path', (value: string) => value === '<>'],
  ['x-auto-response-suppress', (value: string) => value !== 'none'],
  ['x-autoreply', (value: string) => value !== 'no'],
  ['x-autorespond', () => true],
  ['list-id', () => true],
  ['content-type', (value: string) => value.startsWith('multipart/report')],
]);

/** Whether a mail must not be answered by a machine. @param envelopeFrom empty for a bounce */
export function isAutomatic(headers: readonly MailHeader[], envelopeFrom?: string): boolean {
  if (envelopeFrom === '') return true;
  return headers.some(({ key, value }) => SIGNS.get(key)?.(value.trim().toLowerCase()) === true);
}
