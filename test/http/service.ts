import { once } from 'node:events';
import { randomUUID } from 'node:crypto';
import { inject, onTestFinished } from 'vitest';
import { startApi, type ApiOptions } from '../../src/http/index.ts';
import { Operator } from '../../src/producers/operator.ts';
import { Queues } from '../../src/producers/index.ts';
import { ApiKeys, type NewApiKey, type Role } from '../../src/store/api-keys.ts';
import { AuditLog } from '../../src/store/audit.ts';
import { ingressConnection, Store, type StoreOptions } from '../../src/store/index.ts';
import { Records } from '../../src/store/records.ts';

export type ServiceOptions = Partial<Omit<ApiOptions, 'store' | 'queues'>> & {
  redisUrl?: string;
  store?: Partial<Omit<StoreOptions, 'redis'>>;
};

export type Answer<Body = Record<string, unknown>> = {
  status: number;
  headers: Headers;
  body: Body;
};

export type CallOptions = {
  token?: string;
  body?: unknown;
  headers?: Record<string, string>;
};

/** The HTTP service on the real Redis of the run, under a prefix of its own, with the connection of an intake. */
export async function startService(options: ServiceOptions = {}) {
  const { redisUrl = inject('redisUrl'), store: storeOptions, ...apiOptions } = options;
  const redis = ingressConnection(redisUrl);
  await once(redis, 'ready');
  const prefix = `h${randomUUID().slice(0, 8)}-`;
  const store = new Store({ redis, prefix, ...storeOptions });
  await store.open();
  const queues = new Queues(store);
  const records = new Records(store);
  const keys = new ApiKeys(store);
  const operator = new Operator({ store, queues, records });
  const api = await startApi({ store, queues, operator, ...apiOptions });
  onTestFinished(async () => {
    await api.close();
    await queues.close().catch(() => {});
    redis.disconnect();
  });

  const tokenFor = async (roles: readonly Role[], more: Partial<NewApiKey> = {}): Promise<string> =>
    (await keys.create({ name: `${roles.join('-')} person`, roles, by: 'test', ...more })).token;

  async function call<Body = Record<string, unknown>>(
    method: string,
    path: string,
    { token, body, headers = {} }: CallOptions = {},
  ): Promise<Answer<Body>> {
    const json = body !== undefined && typeof body !== 'string' && !(body instanceof Uint8Array);
    const response = await fetch(new URL(path, api.url), {
      method,
      redirect: 'manual',
      headers: {
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(json ? { 'content-type': 'application/json' } : {}),
        ...headers,
      },
      ...(body === undefined ? {} : { body: json ? JSON.stringify(body) : (body as string) }),
    });
    const text = await response.text();
    const parsed = /json/.test(response.headers.get('content-type') ?? '')
      ? (JSON.parse(text) as Body)
      : (text as Body);
    return { status: response.status, headers: response.headers, body: parsed };
  }

  return {
    ...{ url: api.url, close: api.close, call, tokenFor },
    ...{ store, redis, queues, records, keys, prefix },
    audit: new AuditLog(store),
  };
}

export type Service = Awaited<ReturnType<typeof startService>>;

export function message(overrides: Record<string, unknown> = {}) {
  return {
    source: 'test',
    conversationId: 'c1',
    messageId: randomUUID(),
    text: 'Where is my order?',
    requester: { id: 'ana@example.com', assurance: 'verified' },
    ...overrides,
  };
}
