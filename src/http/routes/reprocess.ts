import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { OUTCOMES } from '../../contracts/index.ts';
import { actResult, answerAct } from '../acts.ts';
import { audited } from '../audited.ts';
import { keyOf } from '../caller.ts';
import { aReason, anId, CONFLICT, REFUSED, REFUSED_BODY, type Api, type Parts } from '../parts.ts';
import {
  REPROCESS_MOVES,
  type ReprocessBatch,
  type ReprocessMove,
  type ReprocessPort,
} from '../operator-port.ts';
import { notFound, Problem } from '../problem.ts';

const filterSchema = z.object({
  outcome: z.enum(OUTCOMES).optional(),
  reason: z.string().optional().describe('Stop reason'),
  tool: z.string().optional(),
  source: z.string().optional(),
  skill: z.string().optional(),
  model: z.string().optional(),
  conversation: z.string().optional(),
  from: z.iso.datetime().optional().describe('Ended at or after'),
  to: z.iso.datetime().optional().describe('Ended before'),
  limit: z.number().int().positive().optional().describe('Cases that would run, at most'),
});

const batchSchema = z.looseObject({ id: z.string(), source: z.string().nullable() });
const params = z.object({ id: anId });

const SUMMARIES: Readonly<Record<ReprocessMove, string>> = {
  run: 'Start a planned batch: a few cases first, then a tenth, then the rest',
  pause: 'Start nothing more until it is resumed',
  resume: 'Go on with a paused batch',
  abort: 'Start nothing more; what is being worked on ends',
};

export function addReprocess(api: Api, parts: Parts, reprocess: ReprocessPort): void {
  api.route({
    method: 'POST',
    url: '/v1/reprocess',
    config: { access: ['operator'] },
    schema: {
      operationId: 'planReprocess',
      summary:
        'Plan a batch: what would run, what would be new, what it would cost. Starts nothing',
      tags: ['reprocess'],
      security: [{ key: [] }],
      body: z.object({
        name: z
          .string()
          .trim()
          .min(1)
          .max(100)
          .describe('What this is about, such as the incident'),
        reason: aReason,
        filter: filterSchema.default({}),
      }),
      response: { 201: batchSchema, ...REFUSED_BODY },
    },
    handler: async (request, reply) => {
      const { name, reason, filter } = request.body;
      const { source: own, name: by } = keyOf(request);
      const { source = own, from, to, ...rest } = filter;
      if (own !== undefined && source !== own) {
        throw new Problem(403, {
          code: 'source_only',
          detail: `the key is for ${own} only`,
          field: 'filter.source',
          value: source,
          fix: 'leave source out',
        });
      }
      const wanted = {
        ...{ ...rest, source },
        from: from === undefined ? undefined : Date.parse(from),
        to: to === undefined ? undefined : Date.parse(to),
      };
      const act = { action: 'reprocess.plan', object: name, reason };
      const { batch } = await audited(parts.audit, request, act, async () => ({
        kind: 'planned',
        batch: await reprocess.plan(wanted, { by, name, reason }),
      }));
      return reply.code(201).send({ ...batch });
    },
  });

  api.route({
    method: 'GET',
    url: '/v1/reprocess/:id',
    config: { access: ['operator', 'auditor'] },
    schema: {
      operationId: 'getReprocess',
      summary: 'How far a batch is',
      tags: ['reprocess'],
      security: [{ key: [] }],
      params,
      response: { 200: batchSchema, ...REFUSED },
    },
    handler: async (request) => ({ ...(await find(reprocess, request, request.params.id)) }),
  });

  for (const move of REPROCESS_MOVES) {
    api.route({
      method: 'POST',
      url: `/v1/reprocess/:id/${move}`,
      config: { access: ['operator'] },
      schema: {
        operationId: `${move}Reprocess`,
        summary: SUMMARIES[move],
        tags: ['reprocess'],
        security: [{ key: [] }],
        params,
        body: z.object({ reason: aReason }),
        response: { 200: actResult, ...REFUSED_BODY, ...CONFLICT },
      },
      handler: async (request) => {
        const { id } = await find(reprocess, request, request.params.id);
        const { reason } = request.body;
        const by = keyOf(request).name;
        const act = { action: `reprocess.${move}`, object: id, reason };
        const result = await audited(parts.audit, request, act, () =>
          reprocess.move(id, move, { by, reason }),
        );
        return answerAct(result, 'batch', id);
      },
    });
  }
}

async function find(
  reprocess: ReprocessPort,
  request: FastifyRequest,
  id: string,
): Promise<ReprocessBatch> {
  const { source } = keyOf(request);
  const batch = await reprocess.status(id);
  if (batch === undefined || (source !== undefined && batch.source !== source)) {
    throw notFound('batch', id);
  }
  return batch;
}
