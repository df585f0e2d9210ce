import PostalMime, { type Attachment } from 'postal-mime';
import { DAY_MS, defineAdapter } from '../adapter.ts';
import { shared } from '../signature.ts';
import { addresses } from './headers.ts';
import { headerOf, type Mail } from './mail.ts';

/** A mail as it travels. Throws when it is nested or headed beyond reason. */
export async function parseMime(raw: Buffer | string): Promise<Mail> {
  const email = await PostalMime.parse(raw, { maxNestingDepth: 50, maxHeadersSize: 500_000 });
  const { headers, subject, text, html } = email;
  if (headers.length === 0) throw new TypeError('a mail without headers');
  const to = headers.filter(({ key }) => RECIPIENTS.includes(key));
  return {
    headers,
    from: email.from?.address,
    to: to.flatMap(({ value }) => addresses(value)),
    subject,
    body: { text, html, attachments: email.attachments.map(attached) },
    envelopeFrom: addresses(headerOf({ headers }, 'return-path'))[0],
  };
}

/** Raw mail, from a mail server's pipe or over HTTP. Nothing in it proves who sent it. */
export const mime = defineAdapter({
  verify: shared,
  // Mail servers try for days.
  redelivery: { by: 'source', forMs: 5 * DAY_MS },
  own: 'addresses',
  mail: ({ rawBody }) => parseMime(rawBody),
});

const RECIPIENTS: readonly string[] = ['to', 'cc', 'delivered-to', 'x-original-to'];

function attached({ filename, mimeType, content }: Attachment) {
  const bytes = typeof content === 'string' ? content.length : content.byteLength;
  return { name: filename ?? undefined, type: mimeType, bytes };
}
