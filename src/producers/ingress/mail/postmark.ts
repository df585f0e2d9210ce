import { z } from 'zod';
import { defineAdapter, HOUR_MS } from '../adapter.ts';
import { maybe, text } from '../facts.ts';
import { shared } from '../signature.ts';
import { addresses } from './headers.ts';
import { headerOf } from './mail.ts';

const payload = z.object({
  MessageID: z.string(),
  FromFull: z.object({ Email: z.string() }),
  ToFull: z.array(z.object({ Email: z.string() })),
  CcFull: maybe(z.array(z.object({ Email: z.string() }))),
  OriginalRecipient: text,
  Subject: text,
  TextBody: text,
  HtmlBody: text,
  Headers: z.array(z.object({ Name: z.string(), Value: z.string() })),
  Attachments: maybe(
    z.array(z.object({ Name: text, ContentType: text, ContentLength: maybe(z.number()) })),
  ),
});

export const postmark = defineAdapter({
  verify: shared,
  // Ten tries over ten and a half hours. Only 200 counts as taken, and 403 would end them.
  redelivery: { by: 'source', forMs: 11 * HOUR_MS },
  own: 'addresses',
  mail({ rawBody }) {
    const said = payload.parse(JSON.parse(rawBody.toString('utf8')));
    const headers = said.Headers.map(({ Name, Value }) => ({
      key: Name.toLowerCase(),
      value: Value,
    }));
    const to = [...said.ToFull, ...(said.CcFull ?? [])].map(({ Email }) => Email);
    return {
      headers,
      from: said.FromFull.Email,
      to: [...(said.OriginalRecipient === undefined ? [] : [said.OriginalRecipient]), ...to],
      subject: said.Subject,
      body: {
        text: said.TextBody,
        html: said.HtmlBody,
        attachments: (said.Attachments ?? []).map((file) => ({
          name: file.Name,
          type: file.ContentType,
          bytes: file.ContentLength,
        })),
      },
      deliveryId: said.MessageID,
      envelopeFrom: addresses(headerOf({ headers }, 'return-path'))[0],
    };
  },
});
