import { expect, test } from 'vitest';
import { ROLES, type Role } from '../../src/store/api-keys.ts';
import { message, type Service } from './service.ts';
import { startWithWaitingTurn } from './waiting-case.ts';

type Route = `${'GET' | 'POST'} /${string}`;

const READERS: readonly Role[] = ['operator', 'approver', 'auditor'];

/** Who may use each route. One that is missing here fails the walk below, and so does one that is gone. */
const MAY_USE: Readonly<Record<Route, 'public' | readonly Role[]>> = {
  'GET /healthz': 'public',
  'GET /readyz': 'public',
  'GET /metrics': 'public',
  'POST /v1/webhooks/{source}': 'public',
  'POST /v1/messages': ['ingest'],
  'GET /v1/messages/{id}': ['ingest', 'operator', 'auditor'],
  'GET /v1/dead-letters': ['operator', 'auditor'],
  'GET /v1/turns': READERS,
  'GET /v1/turns/{id}': READERS,
  'GET /v1/turns/{id}/trace': READERS,
  'GET /v1/turns/{id}/events': READERS,
  'POST /v1/turns/{id}/cancel': ['operator'],
  'GET /v1/conversations': READERS,
  'GET /v1/conversations/{source}/{conversation}': READERS,
  'POST /v1/conversations/{source}/{conversation}/takeover': ['operator'],
  'POST /v1/conversations/{source}/{conversation}/release': ['operator'],
  'GET /v1/approvals': READERS,
  'GET /v1/approvals/{id}': READERS,
  'POST /v1/approvals/{id}/approve': ['approver'],
  'POST /v1/approvals/{id}/reject': ['approver'],
  'GET /v1/ledger': READERS,
  'GET /v1/ledger/{operation}': READERS,
  'POST /v1/ledger/{operation}/settle': ['operator'],
  'POST /v1/reprocess': ['operator'],
  'GET /v1/reprocess/{id}': ['operator', 'auditor'],
  'POST /v1/reprocess/{id}/run': ['operator'],
  'POST /v1/reprocess/{id}/pause': ['operator'],
  'POST /v1/reprocess/{id}/resume': ['operator'],
  'POST /v1/reprocess/{id}/abort': ['operator'],
  'GET /v1/keys': ['admin'],
  'POST /v1/keys': ['admin'],
  'POST /v1/keys/{id}/revoke': ['admin'],
  'GET /v1/audit': ['auditor'],
  'GET /v1/audit/verification': ['auditor'],
};

/** What each route needs to be understood. */
const BODIES: Readonly<Record<string, unknown>> = {
  'POST /v1/messages': message({ source: 'north' }),
  'POST /v1/approvals/{id}/approve': {},
  'POST /v1/approvals/{id}/reject': { comment: 'no' },
  'POST /v1/ledger/{operation}/settle': { verdict: 'applied', evidence: 'seen in the shop' },
  'POST /v1/reprocess': { name: 'incident 1', reason: 'again', filter: { source: 'north' } },
  'POST /v1/keys': { name: 'bo', roles: ['operator'], source: 'north', reason: 'new colleague' },
};

test('every documented route is open to exactly the roles it is meant for, and to nobody without a key', async () => {
  const service = await startWithCase();
  const tokens = await Promise.all(
    ROLES.map(async (role) => [role, await service.tokenFor([role])] as const),
  );
  const routes = await documentedRoutes(service);
  expect(routes.toSorted()).toEqual(Object.keys(MAY_USE).toSorted());
  for (const route of routes) {
    const allowed = MAY_USE[route];
    if (allowed === undefined || allowed === 'public') continue;
    expect([route, await statusOf(service, route)]).toEqual([route, 401]);
    for (const [role, token] of tokens) {
      const status = await statusOf(service, route, token);
      if (allowed.includes(role))
        expect([route, role, status < 400 || status === 409]).toEqual([route, role, true]);
      else expect([route, role, status]).toEqual([route, role, 403]);
    }
  }
});

test('what belongs to another source does not exist for a key, on every documented route and whatever its roles', async () => {
  const service = await startWithCase();
  const token = await service.tokenFor(ROLES, { source: 'south' });
  const before = await contentOf(service);
  for (const route of await documentedRoutes(service)) {
    if (MAY_USE[route] === 'public') continue;
    const { status, body } = await answerOf(service, route, token);
    const text = JSON.stringify(body);
    // A list is empty; what names something foreign is not found; what would act on it is refused.
    const lists = route.startsWith('GET') && status === 200;
    expect([route, lists || status === 404 || status === 403]).toEqual([route, true]);
    if (lists) {
      expect([route, text]).toEqual([route, expect.not.stringContaining('north')]);
      expect([route, text]).toEqual([route, expect.not.stringContaining(service.named.turn)]);
    }
  }
  expect(await contentOf(service)).toEqual(before);
});

test('a foreign id and one that does not exist are answered alike', async () => {
  const service = await startWithCase();
  const token = await service.tokenFor(ROLES, { source: 'south' });
  const foreign = await service.call('GET', `/v1/turns/${service.named.turn}`, { token });
  const nothing = await service.call('GET', '/v1/turns/tNobody', { token });
  const same = (body: Record<string, unknown>) => {
    const { requestId: _, detail, ...rest } = body;
    return { ...rest, detail: String(detail).replace(/"[^"]*"/, '"…"') };
  };
  expect(same(foreign.body)).toEqual(same(nothing.body));
});

async function documentedRoutes({ call }: Service): Promise<Route[]> {
  const { body } = await call<{ openapi: string; paths: Record<string, object> }>(
    'GET',
    '/docs/json',
  );
  expect(body.openapi).toBe('3.1.0');
  return Object.entries(body.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method): Route => `${method.toUpperCase()} ${path}` as Route),
  );
}

type CaseService = Awaited<ReturnType<typeof startWithCase>>;

async function statusOf(service: CaseService, route: Route, token?: string): Promise<number> {
  return (await answerOf(service, route, token)).status;
}

async function answerOf(service: CaseService, route: Route, token?: string) {
  const { named, call } = service;
  const [method = '', template = ''] = route.split(' ');
  const ids: Readonly<Record<string, string>> = {
    source: 'north',
    conversation: 'c1',
    operation: named.operation,
    id: idFor(template, named),
  };
  const path = template.replaceAll(/\{(\w+)\}/g, (_, name: string) => ids[name] ?? '');
  const query = template === '/v1/ledger' ? '?conversation=north/c1' : '';
  const body = method === 'POST' ? (BODIES[route] ?? { reason: 'a test' }) : undefined;
  return call(method, `${path}${query}`, {
    ...(token === undefined ? {} : { token }),
    ...(body === undefined ? {} : { body }),
  });
}

function idFor(template: string, named: CaseService['named']): string {
  const kind = template.split('/')[2] ?? '';
  const ids: Readonly<Record<string, string>> = {
    messages: named.message,
    turns: named.turn,
    approvals: named.approval,
    reprocess: 'batch1',
    keys: named.key,
  };
  return ids[kind] ?? '';
}

function startWithCase() {
  return startWithWaitingTurn({
    streamMs: 50,
    metrics: () => Promise.resolve('turnkeeper_up 1\n'),
    reprocess: {
      plan: () => Promise.resolve({ id: 'batch1', source: 'north' }),
      status: (id) => Promise.resolve(id === 'batch1' ? { id, source: 'north' } : undefined),
      move: (_id, move) => Promise.resolve({ kind: move }),
    },
  });
}

/** Everything Redis holds of the service but its counters, probes and keys of the test itself. */
async function contentOf({ redis, store, keys, audit }: CaseService) {
  const tag = store.tagOf('north/c1');
  return {
    conversation: await redis.hgetall(`${tag}:conv:north/c1`),
    waiting: await redis.llen(`${tag}:mail:north/c1`),
    approval: await redis.hgetall(`${tag}:approval:apNorth`),
    effect: await redis.hgetall(`${tag}:op:opNorth`),
    keys: (await keys.list()).length,
    audit: await audit.head(),
  };
}
