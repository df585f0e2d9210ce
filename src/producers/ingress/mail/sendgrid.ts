import { z } from 'zod';
import { DAY_MS, defineAdapter } from '../adapter.ts';
import { text } from '../facts.ts';
import { shared } from '../signature.ts';
import { readForm, textOf, type Form } from './form.ts';
import { addresses, parseHeaders } from './headers.ts';
import type { Mail } from './mail.ts';
import { parseMime } from './mime.ts';

const charsets = z.record(z.string(), z.string());
const envelope = z.object({ to: z.array(z.string()), from: text });

export const sendgrid = defineAdapter({
  verify: shared,
  // Dropped without a word after three days.
  redelivery: { by: 'source', forMs: 3 * DAY_MS },
  own: 'addresses',
  async mail(request) {
    const form = readForm(request);
    const sent = envelope.parse(nested(form, 'envelope') ?? { to: [] });
    const raw = form.fields.get('email');
    const mail = raw === undefined ? fieldsOf(form) : await parseMime(raw);
    return {
      ...mail,
      to: [...sent.to, ...mail.to],
      envelopeFrom: sent.from,
      proven: isProven(form, mail.from, sent.from),
    };
  },
});

function fieldsOf(form: Form): Mail {
  const known = charsets.parse(nested(form, 'charsets') ?? {});
  const field = (name: string) => textOf(form, name, known[name]);
  return {
    headers: parseHeaders(field('headers') ?? ''),
    from: addresses(field('from'))[0],
    to: [...addresses(field('to')), ...addresses(field('cc'))],
    subject: field('subject'),
    body: { text: field('text'), html: field('html'), attachments: form.files },
  };
}

/** The check of a domain counts when it is the domain the reader is shown. */
function isProven(form: Form, from: string | undefined, envelopeFrom: string | undefined): boolean {
  const domain = domainOf(from);
  if (domain === undefined) return false;
  const signed = [...(textOf(form, 'dkim') ?? '').matchAll(/@([\w.-]{1,255})\s*:\s*pass\b/gi)].some(
    ([, signer = '']) => covers(signer.toLowerCase(), domain),
  );
  return signed || (textOf(form, 'SPF') === 'pass' && domainOf(envelopeFrom) === domain);
}

/** A signature of a domain speaks for what lies below it too. */
function covers(signer: string, domain: string): boolean {
  return domain === signer || (signer.includes('.') && domain.endsWith(`.${signer}`));
}

function domainOf(address: string | undefined): string | undefined {
  return address?.toLowerCase().split('@')[1];
}

function nested(form: Form, name: string): unknown {
  const json = textOf(form, name);
  return json === undefined ? undefined : JSON.parse(json);
}
