import { createHash, randomBytes, randomInt, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import { hash } from './claimed-turn.ts';
import { key as placeOf } from './keys.ts';
import type { Store } from './store.ts';

/**
 * What a key is good for. `ingest` hands messages in; `operator` runs turns and conversations; `approver` decides;
 * `auditor` reads raw records and the audit log; `admin` gives and takes keys.
 */
export const ROLES = ['ingest', 'operator', 'approver', 'auditor', 'admin'] as const;
export type Role = (typeof ROLES)[number];

export const apiKeySchema = z.object({
  /** Part of the token that may be shown: `tk_<id>`. */
  id: z.string(),
  /** Whose key it is; stands as "who" in the audit log. */
  name: z.string(),
  roles: z.array(z.enum(ROLES)).min(1),
  /** The only source it may see and serve. Absent: all of them. */
  source: z.string().optional(),
  /** Requests a minute. Absent: the server's default. */
  perMinute: z.number().int().positive().optional(),
  createdAt: z.number().int(),
  createdBy: z.string(),
  expiresAt: z.number().int().optional(),
  revokedAt: z.number().int().optional(),
  revokedBy: z.string().optional(),
});
export type ApiKey = z.infer<typeof apiKeySchema>;

export type NewApiKey = {
  name: string;
  roles: readonly Role[];
  by: string;
  source?: string;
  perMinute?: number;
  /** Milliseconds since the epoch. */
  expiresAt?: number;
};

export type Authentication =
  | { kind: 'valid'; key: ApiKey }
  | { kind: 'unknown' | 'expired' | 'revoked' };

type Stored = { key: ApiKey; digest: string };

const TOKEN = /^tk_([a-z0-9]{12})_([A-Za-z0-9_-]{43})$/;
const ALPHABET = 'abcdefghijklmnopqrstuvwxyz0123456789';

/** A key that was revoked stops working after this long at the latest, in every process. Milliseconds. */
const REMEMBERED_MS = 5_000;
const REMEMBERED_KEYS = 10_000;

/** Keys to the HTTP service. Only a digest of the secret is stored: 256 random bits need no slow hash. */
export class ApiKeys {
  readonly #store: Store;
  readonly #tag: string;
  readonly #remembered = new Map<string, { until: number; stored: Promise<Stored | undefined> }>();

  constructor(store: Store) {
    this.#store = store;
    this.#tag = store.tags()[0] ?? '';
  }

  /** The token is told this once and never again. */
  async create(wanted: NewApiKey): Promise<{ key: ApiKey; token: string }> {
    const { by, roles, ...rest } = wanted;
    const id = Array.from({ length: 12 }, () => ALPHABET[randomInt(ALPHABET.length)]).join('');
    const secret = randomBytes(32).toString('base64url');
    const createdAt = this.#store.clock().now();
    const key = apiKeySchema.parse({ id, ...rest, roles: [...roles], createdAt, createdBy: by });
    const stored = { key: JSON.stringify(key), digest: digestOf(secret) };
    await this.#store.redis.multi().hset(this.#at(id), stored).sadd(this.#index, id).exec();
    return { key, token: `tk_${id}_${secret}` };
  }

  /** Whose token it is. Asks Redis at most every five seconds per key. */
  async authenticate(token: string): Promise<Authentication> {
    const [, id, secret] = TOKEN.exec(token) ?? [];
    if (id === undefined || secret === undefined) return { kind: 'unknown' };
    const stored = await this.#recall(id);
    if (stored === undefined || !sameText(digestOf(secret), stored.digest)) {
      return { kind: 'unknown' };
    }
    const { key } = stored;
    if (key.revokedAt !== undefined) return { kind: 'revoked' };
    if (key.expiresAt !== undefined && key.expiresAt <= this.#store.clock().now()) {
      return { kind: 'expired' };
    }
    return { kind: 'valid', key };
  }

  async find(id: string): Promise<ApiKey | undefined> {
    return (await this.#read(id))?.key;
  }

  /** All keys there ever were, the newest first. */
  async list(): Promise<ApiKey[]> {
    const ids = await this.#store.redis.smembers(this.#index);
    const keys = await Promise.all(ids.map((id) => this.find(id)));
    return keys
      .flatMap((key) => (key === undefined ? [] : [key]))
      .toSorted((a, b) => b.createdAt - a.createdAt);
  }

  async revoke(id: string, by: string): Promise<'revoked' | 'already' | 'not_found'> {
    const stored = await this.#read(id);
    if (stored === undefined) return 'not_found';
    const revokedAt = this.#store.clock().now();
    // One field of its own, set once: whoever comes second changes nothing.
    const first = await this.#store.redis.hsetnx(
      this.#at(id),
      'revoked',
      JSON.stringify({ revokedAt, revokedBy: by }),
    );
    this.#remembered.delete(id);
    return first === 1 ? 'revoked' : 'already';
  }

  #recall(id: string): Promise<Stored | undefined> {
    const now = performance.now();
    const known = this.#remembered.get(id);
    if (known !== undefined && known.until > now) return known.stored;
    if (this.#remembered.size >= REMEMBERED_KEYS) this.#remembered.clear();
    const stored = this.#read(id);
    this.#remembered.set(id, { until: now + REMEMBERED_MS, stored });
    // What could not be read is not remembered.
    stored.catch(() => this.#remembered.delete(id));
    return stored;
  }

  async #read(id: string): Promise<Stored | undefined> {
    const fields = hash(await this.#store.redis.hgetall(this.#at(id)));
    const { key, digest, revoked } = fields;
    if (key === undefined || digest === undefined) return undefined;
    const late = revoked === undefined ? {} : (JSON.parse(revoked) as object);
    return { key: apiKeySchema.parse({ ...JSON.parse(key), ...late }), digest };
  }

  #at(id: string): string {
    return placeOf(this.#tag, 'apikey', id);
  }

  get #index(): string {
    return placeOf(this.#tag, 'apikeys');
  }
}

function digestOf(secret: string): string {
  return createHash('sha256').update(secret).digest('hex');
}

function sameText(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length === right.length && timingSafeEqual(left, right);
}
