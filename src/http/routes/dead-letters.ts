import { z } from 'zod';
import { redactText } from '../../telemetry/index.ts';
import { wantsRaw } from '../audited.ts';
import { keyOf } from '../caller.ts';
import { iso, limitQuery, rawQuery, REFUSED, type Api, type Parts } from '../parts.ts';

const letterSchema = z.object({
  id: z.string(),
  source: z.string(),
  why: z.string(),
  receivedAt: z.iso.datetime(),
  size: z.number().int(),
  body: z.string().nullable().describe('The beginning of it in base64; only with raw'),
});

export function addDeadLetters(api: Api, { letters, audit }: Parts): void {
  api.route({
    method: 'GET',
    url: '/v1/dead-letters',
    config: { access: ['operator', 'auditor'] },
    schema: {
      operationId: 'listDeadLetters',
      summary: 'Genuine deliveries that could not be understood, the newest first',
      tags: ['messages'],
      security: [{ key: [] }],
      querystring: rawQuery.extend({ limit: limitQuery }),
      response: { 200: z.object({ letters: z.array(letterSchema) }), ...REFUSED },
    },
    handler: async (request) => {
      const raw = await wantsRaw(audit, request, request.query, 'dead letters');
      const { source } = keyOf(request);
      const all = await letters.list();
      const seen = all.filter((letter) => source === undefined || letter.source === source);
      return {
        letters: seen.slice(0, request.query.limit).map(({ receivedAt, body, why, ...letter }) => ({
          ...letter,
          why: raw ? why : redactText(why),
          receivedAt: iso(receivedAt),
          body: raw ? body : null,
        })),
      };
    },
  });
}
