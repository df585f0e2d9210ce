import { z } from 'zod';
import { defineAdapter, HOUR_MS } from '../adapter.ts';
import type { WebhookRequest } from '../request.ts';
import { isSigned, readStamp, refused, verdict, type Verdict } from '../signature.ts';
import { readForm, textOf, type Form } from './form.ts';
import { addresses } from './headers.ts';
import type { Mail } from './mail.ts';
import { parseMime } from './mime.ts';

const headerList = z.array(z.tuple([z.string(), z.string()]));

export const mailgun = defineAdapter({
  verify,
  // Six tries over eight hours.
  redelivery: { by: 'source', forMs: 9 * HOUR_MS },
  own: 'addresses',
  async mail(request) {
    const form = readForm(request);
    const raw = form.fields.get('body-mime');
    const mail = raw === undefined ? fieldsOf(form) : await parseMime(raw);
    return {
      ...mail,
      to: [...addresses(textOf(form, 'recipient')), ...mail.to],
      envelopeFrom: textOf(form, 'sender'),
      // Only the token is signed, not the mail: a token that is used once cannot bring in another mail.
      deliveryId: textOf(form, 'token'),
    };
  },
});

/** The signature is a field of the body and covers two other fields. */
function verify(request: WebhookRequest, secrets: readonly string[]): Verdict {
  const form = formOf(request);
  const field = (name: string) => (form === undefined ? undefined : textOf(form, name));
  const [stamp, token, signature] = [field('timestamp'), field('token'), field('signature')];
  if (signature === undefined || token === undefined) return refused('missing_signature');
  if (stamp === undefined) return refused('missing_stamp');
  const genuine = isSigned(signature, { hash: 'sha256', encoding: 'hex' }, [stamp, token], secrets);
  return verdict(genuine, readStamp(stamp, 's'), request.receivedAt, secrets);
}

function formOf(request: WebhookRequest): Form | undefined {
  try {
    return readForm(request);
  } catch {
    return undefined;
  }
}

function fieldsOf(form: Form): Mail {
  const field = (name: string) => textOf(form, name);
  const headers = headerList.parse(JSON.parse(field('message-headers') ?? '[]'));
  return {
    headers: headers.map(([key, value]) => ({ key: key.toLowerCase(), value })),
    from: addresses(field('from'))[0],
    to: addresses(field('To')),
    subject: field('subject'),
    body: { text: field('body-plain'), html: field('body-html'), attachments: form.files },
  };
}
