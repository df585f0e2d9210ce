import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { ApiKey, ApiKeys, Role } from '../store/api-keys.ts';
import { sourceOf } from '../store/conversation-id.ts';
import { Problem } from './problem.ts';

/** Who may use a route: everybody, or the holders of a key with one of these roles. */
export type Access = 'public' | readonly Role[];

type Refusal = 'missing' | 'unknown' | 'expired' | 'revoked';

declare module 'fastify' {
  interface FastifyContextConfig {
    access?: Access;
  }
  interface FastifyRequest {
    /** Null on a public route, and until the key has been looked at. */
    key: ApiKey | null;
    refusal: Refusal;
  }
}

/**
 * Says of each request whose it is, and lets nobody past who may not use the route. In two steps, so that the rate limit
 * in between knows the key, and no body is read for somebody who is refused. A route that does not say who may use it is
 * not started.
 */
export function guardRoutes(api: FastifyInstance, keys: ApiKeys, docs: string): void {
  api.decorateRequest('key', null);
  api.decorateRequest('refusal', 'missing');
  api.addHook('onRoute', (route) => {
    // The pages of the documentation come as they are; they hold nothing that is not in the package.
    if (route.url === docs || route.url.startsWith(`${docs}/`)) {
      route.config = { ...route.config, access: 'public' };
    }
    if (route.config?.access === undefined) {
      throw new TypeError(`${String(route.method)} ${route.url} does not say who may use it`);
    }
  });
  api.addHook('onRequest', async (request) => {
    const token = /^Bearer (\S+)$/i.exec(request.headers.authorization ?? '')?.[1];
    if (token === undefined || request.routeOptions.config.access === 'public') return;
    const answer = await keys.authenticate(token);
    if (answer.kind === 'valid') request.key = answer.key;
    else request.refusal = answer.kind;
  });
  api.addHook('preParsing', (request, _reply, _payload, done) => {
    const { access = 'public' } = request.routeOptions.config;
    done(access === 'public' ? undefined : refusalOf(request, access));
  });
}

const REFUSALS: Readonly<Record<Refusal, readonly [string, string]>> = {
  missing: ['no key was sent', 'send the header "Authorization: Bearer tk_..."'],
  unknown: ['this key is not known', 'check it, or have one made with "turnkeeper keys create"'],
  expired: ['this key has expired', 'have a new one made with "turnkeeper keys create"'],
  revoked: ['this key was revoked', 'have a new one made with "turnkeeper keys create"'],
};

function refusalOf(request: FastifyRequest, access: readonly Role[]): Problem | undefined {
  const { key, refusal } = request;
  if (key === null) {
    const [detail, fix] = REFUSALS[refusal];
    return new Problem(401, { code: `key_${refusal}`, detail, fix });
  }
  if (key.roles.some((role) => access.includes(role))) return undefined;
  request.log.warn({ key: key.id, route: request.routeOptions.url }, 'refused: role');
  return new Problem(403, {
    code: 'role_missing',
    detail: `this needs the role ${access.join(' or ')}; the key has ${key.roles.join(', ')}`,
    fix: 'use a key with that role',
  });
}

/** The key of a request that got past the guard. */
export function keyOf(request: FastifyRequest): ApiKey {
  if (request.key === null) throw new TypeError(`${request.routeOptions.url} is public`);
  return request.key;
}

/** Whether a key may see something of a source. What it may not see does not exist for it. */
export function maySee(request: FastifyRequest, conversationId: string): boolean {
  const { source } = keyOf(request);
  return source === undefined || sourceOf(conversationId) === source;
}

/** For what belongs to no source. @throws Problem when the key is for one source only */
export function needAllSources(request: FastifyRequest): void {
  const { source } = keyOf(request);
  if (source === undefined) return;
  throw new Problem(403, {
    code: 'source_only',
    detail: `this concerns all sources; the key is for ${source} only`,
    fix: 'use a key without a source',
  });
}
