import type { FastifyRequest } from 'fastify';
import type { AuditEntry, AuditLog } from '../store/audit.ts';
import { keyOf } from './caller.ts';
import type { ActResult } from './operator-port.ts';
import { Problem } from './problem.ts';

export type Act = { action: string; object: string; reason: string };

/**
 * Performs what a person asked for between two audit records: nothing is done that is not on record before, and the second
 * one says how it came out.
 */
export async function audited<T extends ActResult>(
  audit: AuditLog,
  request: FastifyRequest,
  act: Act,
  perform: () => Promise<T>,
): Promise<T> {
  const entry = entryOf(request, act);
  const { seq } = await audit.append(entry);
  try {
    const result = await perform();
    await audit.append({ ...entry, of: seq, result: result.kind });
    return result;
  } catch (error) {
    await audit.append({ ...entry, of: seq, result: 'failed' }).catch(() => {});
    throw error;
  }
}

function entryOf(request: FastifyRequest, act: Act): AuditEntry {
  const { id, name } = keyOf(request);
  return { actor: { id, name }, from: request.ip, ...act };
}

/**
 * Whether records go out as they are. That is for auditors, who have to ask for it, and leaves a trace of its own.
 *
 * @throws Problem when somebody else asks
 */
export async function wantsRaw(
  audit: AuditLog,
  request: FastifyRequest,
  { raw }: { raw?: boolean | undefined },
  object: string,
): Promise<boolean> {
  if (raw !== true) return false;
  if (!keyOf(request).roles.includes('auditor')) {
    throw new Problem(403, {
      code: 'role_missing',
      detail: 'raw records are for the role auditor',
      field: 'raw',
      value: true,
      fix: 'leave raw out: what customers wrote is then masked and what tools said is left out',
    });
  }
  await audit.append(entryOf(request, { action: 'raw.read', object, reason: '' }));
  return true;
}
