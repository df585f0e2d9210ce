import { hostname } from 'node:os';
import { InvalidArgumentError, type Command } from 'commander';
import { AuditLog, type AuditHead, type AuditVerdict } from '../store/audit.ts';
import { withRecords, type Connected } from './connection.ts';
import { EXIT, type ExitCode } from './errors.ts';
import { perform, type Invocation } from './invocation.ts';
import type { Output } from './output.ts';
import { count } from './wording.ts';

export function addAudit(program: Command): void {
  program
    .command('audit')
    .description('Who did what, when, from where and why.')
    .command('verify')
    .description('Walks the log and names its first bad or missing record. Ends with 6 then.')
    .option(
      '--head <seq:hash>',
      'a head this command printed before: shows that nothing was cut off since',
      readHead,
    )
    .action((options: { head?: AuditHead }, command: Command) =>
      perform(command, (invocation) => verify(invocation, options.head)),
    );
}

/**
 * Does what a person asked for between two audit records: nothing is done that is not on record before, and the second one
 * says how it came out.
 */
export async function audited<T extends { kind: string }>(
  { store }: Connected,
  { by, ...act }: { action: string; object: string; reason: string; by: string },
  work: () => Promise<T>,
): Promise<T> {
  const audit = new AuditLog(store);
  const entry = { ...act, actor: { id: 'cli', name: by }, from: hostname() };
  const { seq } = await audit.append(entry);
  try {
    const result = await work();
    await audit.append({ ...entry, of: seq, result: result.kind });
    return result;
  } catch (error) {
    await audit.append({ ...entry, of: seq, result: 'failed' }).catch(() => {});
    throw error;
  }
}

function readHead(text: string): AuditHead {
  const [, seq, hash] = /^(\d{1,15}):([0-9a-f]{64})$/.exec(text) ?? [];
  if (seq === undefined || hash === undefined) {
    throw new InvalidArgumentError('It must be <seq>:<hash>, as "audit verify -q" printed it.');
  }
  return { seq: Number(seq), hash };
}

async function verify({ settings, out }: Invocation, witness?: AuditHead): Promise<ExitCode> {
  const verdict = await withRecords(settings, ({ store }) => new AuditLog(store).verify(witness));
  const id = verdict.kind === 'whole' ? headText(verdict.head) : String(verdict.seq);
  out.card(verdict, { id: () => id, text: () => textOf(verdict, out) });
  return verdict.kind === 'whole' ? EXIT.ok : EXIT.findings;
}

function headText({ seq, hash }: AuditHead): string {
  return `${seq}:${hash}`;
}

const PROBLEMS = {
  missing: 'is missing',
  changed: 'was changed after it was written',
  unreadable: 'cannot be read',
  surplus: 'was not written by this service',
} as const;

function textOf(verdict: AuditVerdict, out: Output): string {
  if (verdict.kind === 'broken') {
    const what = `record ${verdict.seq} ${PROBLEMS[verdict.problem]}`;
    return `${out.mark('bad', 'broken')}  ${what}; nothing behind it can be relied on`;
  }
  if (verdict.records === 0) return `${out.mark('good', 'whole')}  no records yet`;
  return [
    `${out.mark('good', 'whole')}  ${count(verdict.records, 'record')}`,
    `  head  ${headText(verdict.head)}`,
    'Keep the head elsewhere: "audit verify --head <seq:hash>" then shows that nothing was cut off.',
  ].join('\n');
}
