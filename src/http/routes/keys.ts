import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { ticketMessageSchema } from '../../contracts/index.ts';
import { ROLES, type ApiKey } from '../../store/api-keys.ts';
import { audited } from '../audited.ts';
import { keyOf } from '../caller.ts';
import {
  aReason,
  anId,
  iso,
  isoOrNull,
  REFUSED,
  REFUSED_BODY,
  type Api,
  type Parts,
} from '../parts.ts';
import { notFound, Problem } from '../problem.ts';

const keySchema = z.object({
  id: z.string(),
  prefix: z.string().describe('How the token begins; the rest is known to its holder only'),
  name: z.string(),
  roles: z.array(z.enum(ROLES)),
  source: z.string().nullable(),
  perMinute: z.number().int().nullable(),
  createdAt: z.iso.datetime(),
  createdBy: z.string(),
  expiresAt: z.iso.datetime().nullable(),
  revokedAt: z.iso.datetime().nullable(),
  revokedBy: z.string().nullable(),
});

const wantedSchema = z.object({
  name: z.string().trim().min(1).max(100).describe('Whose key it is'),
  roles: z.array(z.enum(ROLES)).min(1),
  source: ticketMessageSchema.shape.source.optional(),
  perMinute: z.number().int().positive().max(1_000_000).optional(),
  expiresAt: z.iso.datetime().optional(),
  reason: aReason,
});

export function addKeys(api: Api, { keys, audit }: Parts): void {
  api.route({
    method: 'GET',
    url: '/v1/keys',
    config: { access: ['admin'] },
    schema: {
      operationId: 'listKeys',
      summary: 'All keys there ever were, the newest first',
      tags: ['keys'],
      security: [{ key: [] }],
      response: { 200: z.object({ keys: z.array(keySchema) }), ...REFUSED },
    },
    handler: async (request) => {
      const all = await keys.list();
      return { keys: all.filter((key) => mayManage(request, key)).map(viewOf) };
    },
  });

  api.route({
    method: 'POST',
    url: '/v1/keys',
    config: { access: ['admin'] },
    schema: {
      operationId: 'createKey',
      summary: 'Make a key; its token is told this once',
      tags: ['keys'],
      security: [{ key: [] }],
      body: wantedSchema,
      response: { 201: keySchema.extend({ token: z.string() }), ...REFUSED_BODY },
    },
    handler: async (request, reply) => {
      const { reason, expiresAt, name, roles, perMinute } = request.body;
      const own = keyOf(request).source;
      const { source = own } = request.body;
      if (own !== undefined && source !== own) {
        throw new Problem(403, {
          code: 'source_only',
          detail: `the key is for ${own} only and makes keys for ${own} only`,
          field: 'source',
          value: source,
          fix: 'leave source out',
        });
      }
      const act = { action: 'key.create', object: `${name}: ${roles.join(', ')}`, reason };
      const { key, token } = await audited(audit, request, act, async () => ({
        kind: 'created',
        ...(await keys.create({
          ...{ name, roles, by: keyOf(request).name },
          ...(source === undefined ? {} : { source }),
          ...(perMinute === undefined ? {} : { perMinute }),
          ...(expiresAt === undefined ? {} : { expiresAt: Date.parse(expiresAt) }),
        })),
      }));
      return reply.code(201).send({ ...viewOf(key), token });
    },
  });

  api.route({
    method: 'POST',
    url: '/v1/keys/:id/revoke',
    config: { access: ['admin'] },
    schema: {
      operationId: 'revokeKey',
      summary: 'Take a key away; every process refuses it within five seconds',
      tags: ['keys'],
      security: [{ key: [] }],
      params: z.object({ id: anId }),
      body: z.object({ reason: aReason }),
      response: { 200: keySchema, ...REFUSED_BODY },
    },
    handler: async (request) => {
      const { id } = request.params;
      const known = await keys.find(id);
      if (known === undefined || !mayManage(request, known)) throw notFound('key', id);
      const act = { action: 'key.revoke', object: id, reason: request.body.reason };
      await audited(audit, request, act, async () => ({
        kind: await keys.revoke(id, keyOf(request).name),
      }));
      return viewOf((await keys.find(id)) ?? known);
    },
  });
}

function mayManage(request: FastifyRequest, key: ApiKey): boolean {
  const { source } = keyOf(request);
  return source === undefined || key.source === source;
}

function viewOf(key: ApiKey): z.infer<typeof keySchema> {
  const { id, name, roles, createdBy } = key;
  return {
    ...{ id, prefix: `tk_${id}`, name, roles, createdBy },
    source: key.source ?? null,
    perMinute: key.perMinute ?? null,
    createdAt: iso(key.createdAt),
    expiresAt: isoOrNull(key.expiresAt),
    revokedAt: isoOrNull(key.revokedAt),
    revokedBy: key.revokedBy ?? null,
  };
}
