import { capped, clean, cleanLine, tidy } from './clean.ts';
import { htmlToText } from './html.ts';
import { languageOf } from './language.ts';
import { splitReply } from './reply.ts';

/** A file that came with a message. Only named: its content is not taken in. */
export type Attachment = { name: string; type?: string; bytes?: number };

/** A message as its system words it. Where both are given, the plain text counts. */
export type Body = {
  text?: string | undefined;
  html?: string | undefined;
  attachments?:
    | readonly { [Field in keyof Attachment]?: Attachment[Field] | undefined }[]
    | undefined;
  /** Written in a mail program: may quote what it answers and end in a signature. */
  mail?: boolean | undefined;
};

export type MessageText = {
  /** What the customer says, as a reader would see it; a sentence in brackets where there is nothing to read. */
  text: string;
  quoted?: string;
  signature?: string;
  /** The body as it was sent, where `text` is not the same. Cut like a text. */
  original?: string;
  /** ISO 639-1. */
  language?: string;
  attachments?: Attachment[];
};

const ATTACHMENTS_KEPT = 20;
/** Of the texts beside the text; with the note that they were cut it fits the contract. */
const ASIDE_KEPT = 15_900;

export function readBody(body: Body): MessageText {
  const attachments = (body.attachments ?? []).slice(0, ATTACHMENTS_KEPT).map(named);
  const { text: written = '', html = '' } = body;
  const isHtml = isBlank(written) && html !== '';
  const sent = isHtml ? html : written;
  const plain = clean(isHtml ? htmlToText(html) : written);
  const { text, ...around } = body.mail === true ? splitReply(plain) : { text: plain };
  const said = tidy(text);
  const language = said === '' ? undefined : languageOf(said);
  return {
    text: said === '' ? emptiness(attachments) : said,
    ...capEach(around),
    ...(isSame(sent, said) ? {} : { original: capped(sent, ASIDE_KEPT) }),
    ...(language === undefined ? {} : { language }),
    ...(attachments.length === 0 ? {} : { attachments }),
  };
}

function isBlank(text: string): boolean {
  return clean(text).trim() === '';
}

/** Whether nothing was taken away but line ends and the space around. */
function isSame(sent: string, said: string): boolean {
  return sent.replaceAll('\r\n', '\n').trim() === said;
}

function capEach(texts: { quoted?: string; signature?: string }) {
  return Object.fromEntries(
    Object.entries(texts).map(([name, text]) => [name, capped(tidy(text), ASIDE_KEPT)]),
  );
}

function named({ name = '', type, bytes }: NonNullable<Body['attachments']>[number]): Attachment {
  return {
    name: cleanLine(name, 120) || 'unnamed',
    ...(type === undefined ? {} : { type: cleanLine(type, 80) }),
    ...(Number.isSafeInteger(bytes) && bytes !== undefined && bytes >= 0 ? { bytes } : {}),
  };
}

/** Says that there is nothing to read, so that whoever answers asks for it. */
function emptiness(attachments: readonly Attachment[]): string {
  if (attachments.length === 0) return '[This message has no text.]';
  const names = attachments.map(({ name, type }) =>
    type === undefined ? name : `${name} (${type})`,
  );
  return `[This message has no text, only attachments that are not shown here: ${names.join(', ')}]`;
}
