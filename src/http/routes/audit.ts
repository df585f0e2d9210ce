import { z } from 'zod';
import { auditRecordSchema } from '../../store/audit.ts';
import { needAllSources } from '../caller.ts';
import { limitQuery, REFUSED, type Api, type Parts } from '../parts.ts';

const headSchema = z.object({ seq: z.number().int(), hash: z.string() });

const verdictSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('whole'), records: z.number().int(), head: headSchema }),
  z.object({
    kind: z.literal('broken'),
    seq: z.number().int().describe('The first record that is bad or missing'),
    problem: z.enum(['missing', 'changed', 'unreadable', 'surplus']),
  }),
]);

export function addAudit(api: Api, { audit }: Parts): void {
  api.route({
    method: 'GET',
    url: '/v1/audit',
    config: { access: ['auditor'] },
    schema: {
      operationId: 'listAudit',
      summary: 'Who did what, when, from where and why; oldest first',
      tags: ['audit'],
      security: [{ key: [] }],
      querystring: z.object({
        from: z.coerce.number().int().min(1).default(1).describe('First record'),
        limit: limitQuery,
      }),
      response: {
        200: z.object({ records: z.array(auditRecordSchema), head: headSchema }),
        ...REFUSED,
      },
    },
    handler: async (request) => {
      needAllSources(request);
      const { from, limit } = request.query;
      return { records: await audit.records(from, limit), head: await audit.head() };
    },
  });

  api.route({
    method: 'GET',
    url: '/v1/audit/verification',
    config: { access: ['auditor'] },
    schema: {
      operationId: 'verifyAudit',
      summary: 'Whether the log is whole, or its first bad or missing record',
      description: 'Keep the head elsewhere: given back here it shows that nothing was cut off.',
      tags: ['audit'],
      security: [{ key: [] }],
      querystring: z.object({
        head: z
          .string()
          .regex(/^\d{1,15}:[0-9a-f]{64}$/, {
            error: 'must be <seq>:<hash>, as an earlier answer had it',
          })
          .optional(),
      }),
      response: { 200: verdictSchema, ...REFUSED },
    },
    handler: async (request) => {
      needAllSources(request);
      const [seq, hash] = request.query.head?.split(':') ?? [];
      const witness = hash === undefined ? undefined : { seq: Number(seq), hash };
      return audit.verify(witness);
    },
  });
}
