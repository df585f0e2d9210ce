import { TextDecoder } from 'node:util';
import { header, type WebhookRequest } from '../request.ts';

export type FormFile = { field: string; name: string; type?: string; bytes: number };

/** A form as it was sent: fields stay bytes, because some senders give each its own charset. Files are only named. */
export type Form = { fields: ReadonlyMap<string, Buffer>; files: readonly FormFile[] };

const MOST_PARTS = 1_000;
const LONGEST_HEAD = 10_000;

/** Reads both encodings of a form. Throws when the body is none. */
export function readForm(request: WebhookRequest): Form {
  const type = header(request, 'content-type') ?? '';
  if (/^multipart\/form-data\b/i.test(type)) return multipart(request.rawBody, boundaryOf(type));
  if (!/^application\/x-www-form-urlencoded\b/i.test(type)) throw new TypeError('not a form');
  const pairs = [...new URLSearchParams(request.rawBody.toString('utf8'))];
  return { fields: new Map(pairs.map(([name, value]) => [name, Buffer.from(value)])), files: [] };
}

/** The text of a field; bytes that do not fit the charset they were sent with become replacement characters. */
export function textOf(form: Form, field: string, charset = 'utf-8'): string | undefined {
  const bytes = form.fields.get(field);
  return bytes === undefined ? undefined : decoder(charset).decode(bytes);
}

function decoder(charset: string): TextDecoder {
  try {
    return new TextDecoder(charset);
  } catch {
    // Nobody knows the charset: western text in it is readable this way.
    return new TextDecoder('windows-1252');
  }
}

function boundaryOf(type: string): string {
  const [, quoted, bare] = /boundary=(?:"([^"]{1,200})"|([^\s;]{1,200}))/i.exec(type) ?? [];
  const boundary = quoted ?? bare;
  if (boundary === undefined) throw new TypeError('multipart without a boundary');
  return boundary;
}

function multipart(body: Buffer, boundary: string): Form {
  const fields = new Map<string, Buffer>();
  const files: FormFile[] = [];
  for (const part of parts(body, `--${boundary}`)) {
    const end = part.indexOf('\r\n\r\n');
    if (end === -1 || end > LONGEST_HEAD) throw new TypeError('a part without headers');
    const head = part.toString('utf8', 0, end);
    const content = part.subarray(end + 4);
    const field = parameter(head, 'name');
    if (field === undefined) throw new TypeError('a part without a name');
    const name = parameter(head, 'filename');
    if (name === undefined) {
      fields.set(field, content);
      continue;
    }
    const type = /^content-type:\s*([^\s;]+)/im.exec(head)?.[1];
    files.push({ field, name, bytes: content.length, ...(type === undefined ? {} : { type }) });
  }
  return { fields, files };
}

/** What lies between the delimiters, without the line breaks that belong to them. */
function parts(body: Buffer, delimiter: string): Buffer[] {
  const found: Buffer[] = [];
  let at = body.indexOf(delimiter);
  if (at === -1) throw new TypeError('multipart without parts');
  for (;;) {
    const start = at + delimiter.length;
    if (body.toString('latin1', start, start + 2) === '--') return found;
    const next = body.indexOf(`\r\n${delimiter}`, start);
    if (next === -1) throw new TypeError('multipart that is cut off');
    if (found.push(body.subarray(start + 2, next)) > MOST_PARTS) {
      throw new TypeError(`multipart with more than ${MOST_PARTS} parts`);
    }
    at = next + 2;
  }
}

function parameter(head: string, name: string): string | undefined {
  return new RegExp(`^content-disposition:[^\\r\\n]*;\\s*${name}="([^"\\r\\n]*)"`, 'im').exec(
    head,
  )?.[1];
}
