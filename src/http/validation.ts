import type { FastifySchemaCompiler } from 'fastify';
import type { z } from 'zod';
import { Problem } from './problem.ts';

const SHOWN = 80;

/** Checks what came in against its schema; the first thing that is wrong is named with its value. */
export const validatorCompiler: FastifySchemaCompiler<z.ZodType> =
  ({ schema, httpPart }) =>
  (data: unknown) => {
    const parsed = schema.safeParse(data, { reportInput: true });
    if (parsed.success) return { value: parsed.data };
    const [issue] = parsed.error.issues;
    const field = issue?.path.join('.') || PARTS[httpPart ?? ''] || 'request';
    const value = shown(issue?.input);
    const fix = issue?.message ?? 'send something else';
    return {
      error: new Problem(400, {
        code: 'invalid_input',
        detail: `${field} is ${JSON.stringify(value) ?? 'missing'}: ${fix}`,
        field,
        value: value ?? null,
        fix,
      }),
    };
  };

const PARTS: Readonly<Record<string, string>> = {
  body: 'body',
  querystring: 'query',
  params: 'path',
  headers: 'headers',
};

/** A value as it may be said back: short, and whole only if it is short. */
function shown(value: unknown): unknown {
  const text = JSON.stringify(value);
  if (text === undefined || text.length <= SHOWN) return value;
  return `${text.slice(0, SHOWN - 3)}...`;
}
