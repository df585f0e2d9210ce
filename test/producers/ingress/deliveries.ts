import { readFileSync } from 'node:fs';
import { z } from 'zod';
import {
  configureSource,
  type Source,
  type SourceOptions,
  type SourceType,
  type WebhookRequest,
} from '../../../src/producers/ingress/index.ts';

const FOLDER = new URL('../../fixtures/webhooks/', import.meta.url);

const vectors = z.record(
  z.string(),
  z.object({
    headers: z.record(z.string(), z.string()).optional(),
    secret: z.string().optional(),
    url: z.string().optional(),
  }),
);

/** When the recorded deliveries were stamped. */
export const STAMPED_AT = Date.parse('2026-03-04T10:15:30Z');
const SHARED_SECRET = 'sendgrid-path-secret';

const VECTORS = vectors.parse(JSON.parse(fixture('SIGNATURES.json').toString('utf8')));

/** Every recorded delivery that says how it was sent. */
export const DELIVERIES = Object.keys(VECTORS).filter(
  (file) => VECTORS[file]?.headers !== undefined,
);

export function fixture(file: string): Buffer {
  return readFileSync(new URL(file, FOLDER));
}

export function json(file: string): unknown {
  return JSON.parse(fixture(file).toString('utf8'));
}

/** A recorded delivery and the source it belongs to. */
export function delivery(file: string): { request: WebhookRequest; source: Source } {
  const { headers = {}, secret = SHARED_SECRET, url } = VECTORS[file] ?? {};
  const type = typeOf(file);
  const fields = file.endsWith('.fields.json')
    ? z.record(z.string(), z.string()).parse(json(file))
    : undefined;
  const request: WebhookRequest = {
    method: 'POST',
    url: url ?? `https://hooks.example.com/in/${type}`,
    headers: Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
    ),
    query: type === 'sendgrid' ? { secret: SHARED_SECRET } : {},
    rawBody:
      fields === undefined
        ? fixture(file)
        : type === 'sendgrid'
          ? multipart(fields, 'xYzZY')
          : Buffer.from(new URLSearchParams(fields).toString()),
    receivedAt: STAMPED_AT + 1_000,
  };
  return { request, source: sourceOf(type, { secrets: [secret] }) };
}

/** The accounts and mailboxes of the recorded deliveries. */
const OWN: Partial<Record<SourceType, readonly string[]>> = {
  zendesk: ['8447388090494'],
  freshdesk: ['1'],
  zammad: ['5'],
  intercom: ['274'],
  hubspot: ['A-1'],
  jira: ['557058:bbbbbbbb-0000-4000-8000-000000000002'],
  helpscout: ['4'],
};

export function sourceOf(type: SourceType, options: Partial<SourceOptions> = {}): Source {
  return configureSource({
    name: type,
    type,
    secrets: ['a-test-secret'],
    ownAuthors: OWN[type] ?? [],
    ownAddresses: ['support@support.example.com'],
    ...options,
  });
}

/** A delivery made by a test, from a source that has proven itself. */
export function made(body: unknown, headers: Record<string, string> = {}): WebhookRequest {
  const raw = Buffer.isBuffer(body) || typeof body === 'string' ? body : JSON.stringify(body);
  return {
    method: 'POST',
    url: 'https://hooks.example.com/in/test',
    headers,
    query: {},
    rawBody: Buffer.from(raw),
    receivedAt: STAMPED_AT,
  };
}

export function multipart(
  fields: Readonly<Record<string, string | Buffer>>,
  boundary: string,
  file?: { field: string; name: string; type: string; content: Buffer },
): Buffer {
  const parts: Buffer[][] = Object.entries(fields).map(([name, value]) => [
    Buffer.from(`--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n`),
    Buffer.from(value),
    Buffer.from('\r\n'),
  ]);
  if (file !== undefined) {
    parts.push([
      Buffer.from(
        `--${boundary}\r\nContent-Disposition: form-data; name="${file.field}"; filename="${file.name}"\r\nContent-Type: ${file.type}\r\n\r\n`,
      ),
      file.content,
      Buffer.from('\r\n'),
    ]);
  }
  return Buffer.concat([...parts.flat(), Buffer.from(`--${boundary}--\r\n`)]);
}

function typeOf(file: string): SourceType {
  const [system = '', kind] = file.split('.');
  const types: Record<string, SourceType> = {
    front: kind === 'rule' ? 'front-rule' : 'front-app',
    zendesk: 'zendesk',
    freshdesk: 'freshdesk',
    zammad: 'zammad',
    chatwoot: 'chatwoot',
    intercom: 'intercom',
    hubspot: 'hubspot',
    jira: 'jira',
    github: 'github',
    helpscout: 'helpscout',
    gorgias: 'gorgias',
    postmark: 'postmark',
    sendgrid: 'sendgrid',
    mailgun: 'mailgun',
  };
  const type = types[system];
  if (type === undefined) throw new Error(`no system sends ${file}`);
  return type;
}
