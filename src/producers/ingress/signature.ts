import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { header, type WebhookRequest } from './request.ts';

/** How far a time stamp may be from our clock, either way. */
export const REPLAY_WINDOW_MS = 5 * 60_000;

/** Why a delivery is not believed. Closed: it is a metric label. */
export const REFUSALS = [
  ...['no_secret', 'missing_signature', 'bad_signature', 'missing_stamp', 'bad_stamp', 'stale'],
] as const;
export type Refusal = (typeof REFUSALS)[number];

export type Verdict = { ok: true } | { ok: false; status: 401; reason: Refusal };

/** Says whether a delivery comes from its source. Any of the secrets will do: while one is exchanged two are live. */
export type Verify = (request: WebhookRequest, secrets: readonly string[]) => Verdict;

/** What is signed, piece by piece; separators stand for themselves. */
type Part = 'method' | 'url' | 'stamp' | 'body' | '.' | ':';
type Stamp = { header: string; unit: 'iso' | 's' | 'ms' };
type Digest = { hash: 'sha1' | 'sha256'; encoding: 'hex' | 'base64' };

export type HmacScheme = Digest & {
  header: string;
  /** Stands before the signature in its header. */
  prefix?: string;
  stamp?: Stamp;
  signed: readonly Part[];
  /** Installations that cannot sign prove themselves by a shared secret instead. */
  orShared?: boolean;
};

export function hmac(scheme: HmacScheme): Verify {
  return (request, secrets) => {
    const given = header(request, scheme.header);
    if (given === undefined) {
      return scheme.orShared === true ? shared(request, secrets) : refused('missing_signature');
    }
    const stamp = scheme.stamp === undefined ? '' : header(request, scheme.stamp.header);
    if (stamp === undefined) return refused('missing_stamp');
    const pieces = scheme.signed.map((part) => piece(part, request, stamp));
    const { hash, encoding, prefix = '' } = scheme;
    return verdict(
      isSigned(given, { hash, encoding, prefix }, pieces, secrets),
      scheme.stamp === undefined ? undefined : readStamp(stamp, scheme.stamp.unit),
      request.receivedAt,
      secrets,
    );
  };
}

/** For systems that sign nothing: a secret in the password of Basic, in `x-webhook-secret` or in `?secret=`. */
export function shared(request: WebhookRequest, secrets: readonly string[]): Verdict {
  if (secrets.length === 0) return refused('no_secret');
  const { secret } = request.query;
  const given = [
    basicPassword(header(request, 'authorization')),
    header(request, 'x-webhook-secret'),
    typeof secret === 'string' ? secret : undefined,
  ].filter((value) => value !== undefined);
  if (given.length === 0) return refused('missing_signature');
  const same = given.flatMap((value) => secrets.map((known) => isEqual(value, known)));
  return same.includes(true) ? { ok: true } : refused('bad_signature');
}

/** Puts the checks of a signature and its stamp together. Only a genuine stamp is called stale. */
export function verdict(
  genuine: boolean,
  stampMs: number | undefined,
  receivedAt: number,
  secrets: readonly string[],
): Verdict {
  if (secrets.length === 0) return refused('no_secret');
  if (!genuine) return refused('bad_signature');
  if (stampMs === undefined) return { ok: true };
  if (Number.isNaN(stampMs)) return refused('bad_stamp');
  return Math.abs(receivedAt - stampMs) > REPLAY_WINDOW_MS ? refused('stale') : { ok: true };
}

/** Tries every secret, also after one has fitted: how long it takes tells nothing. */
export function isSigned(
  given: string,
  { hash, encoding, prefix = '' }: Digest & { prefix?: string },
  pieces: readonly (string | Buffer)[],
  secrets: readonly string[],
): boolean {
  const fits = secrets.map((secret) => {
    const mac = createHmac(hash, secret);
    for (const one of pieces) mac.update(one);
    return isEqual(given, `${prefix}${mac.digest(encoding)}`);
  });
  return fits.includes(true);
}

export function refused(reason: Refusal): Verdict {
  return { ok: false, status: 401, reason };
}

/** Milliseconds since the epoch; NaN when it is no stamp. */
export function readStamp(stamp: string, unit: Stamp['unit']): number {
  if (unit === 'iso') return /^\d{4}-\d\d-\d\dT/.test(stamp) ? Date.parse(stamp) : Number.NaN;
  if (!/^\d{1,15}$/.test(stamp)) return Number.NaN;
  return Number(stamp) * (unit === 's' ? 1_000 : 1);
}

function piece(part: Part, request: WebhookRequest, stamp: string): string | Buffer {
  switch (part) {
    case 'method':
      return request.method;
    case 'url':
      return request.url;
    case 'stamp':
      return stamp;
    case 'body':
      return request.rawBody;
    default:
      return part;
  }
}

/** Compares digests, so that neither content nor length shows in the time it takes. */
function isEqual(one: string, other: string): boolean {
  return timingSafeEqual(sha256(one), sha256(other));
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

function basicPassword(authorization: string | undefined): string | undefined {
  const encoded = /^basic\s+(\S+)$/i.exec(authorization ?? '')?.[1];
  if (encoded === undefined) return undefined;
  const credential = Buffer.from(encoded, 'base64').toString('utf8');
  const colon = credential.indexOf(':');
  return colon === -1 ? undefined : credential.slice(colon + 1);
}
