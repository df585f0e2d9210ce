import type { ApprovalAnswer } from '../store/index.ts';
import { approvalView } from './approval-view.ts';
import { audited } from './audit.ts';
import { withOperator } from './connection.ts';
import { CommandError, EXIT, notFound, usageError } from './errors.ts';
import type { Invocation } from './invocation.ts';
import { visible } from './visible-text.ts';
import { clock, day, duration, iso } from './wording.ts';

export type Decision = { by: string; reason?: string; dryRun?: boolean };
type Verdict = 'approved' | 'rejected';
const ACTIONS = { approved: 'approval.approve', rejected: 'approval.reject' } as const;
type Recorded = Extract<ApprovalAnswer, { kind: 'decided' | 'already' }>;

/**
 * Decides one approval and wakes its turn. What is printed is what the record holds: whoever comes second is told who
 * was first. Saying the same again is no conflict.
 *
 * @throws CommandError not found (3); decided by somebody else or expired (5)
 */
export async function decide(
  { settings, out }: Invocation,
  id: string,
  verdict: Verdict,
  { by, reason = '', dryRun = false }: Decision,
): Promise<void> {
  if (by.trim() === '') throw usageError('--by is empty: say who decides, for example --by ana');
  if (verdict === 'rejected' && reason.trim() === '')
    throw usageError('--reason is empty: say why it is refused');
  await withOperator(settings, async (connected) => {
    const { records, operator } = connected;
    const approval = await records.approval(id);
    if (approval === undefined)
      throw notFound('approval', id, 'list them with "turnkeeper approvals list"');
    if (dryRun) {
      const would =
        approval.status === 'pending' ? `would be ${verdict} by ${by}` : `stays ${approval.status}`;
      const text = visible(`approval ${id} ${would}; nothing was decided`);
      return out.card(
        { ...approvalView(approval), dryRun: true },
        { id: () => id, text: () => text },
      );
    }
    const act = { action: ACTIONS[verdict], object: id, by, reason };
    const answer = await audited(connected, act, () =>
      operator.decideApproval(id, verdict, { by, comment: reason }),
    );
    if (answer.kind === 'not_found' || answer.kind === 'not_due') {
      throw notFound('approval', id, 'list them with "turnkeeper approvals list"');
    }
    refuseOther(answer, { verdict, by, expiresAt: approval.expiresAt });
    const { status, decidedAt, comment, conversationId, turnId } = answer;
    const already = answer.kind === 'already';
    const when = `${already ? 'before, ' : ''}at ${day(decidedAt)}`;
    const text = visible(`${status} by ${answer.by} ${when}; turn ${turnId} goes on`);
    const view = { id, status, by: answer.by, decidedAt: iso(decidedAt), comment: comment || null };
    out.card({ ...view, conversationId, turnId, already }, { id: () => id, text: () => text });
  });
}

function refuseOther(
  answer: Recorded,
  asked: { verdict: Verdict; by: string; expiresAt: number },
): void {
  if (answer.status === asked.verdict && (answer.kind === 'decided' || answer.by === asked.by))
    return;
  const done = asked.verdict === 'approved' ? 'Not approved' : 'Not rejected';
  const { turnId } = answer;
  if (answer.status === 'expired') {
    throw new CommandError({
      code: 'approval_expired',
      message: `${done}: this request expired at ${clock(asked.expiresAt)}. The turn stops with reason approval_expired`,
      next: `turnkeeper why ${turnId}`,
      exitCode: EXIT.conflict,
    });
  }
  if (answer.status === 'cancelled') {
    throw new CommandError({
      code: 'approval_withdrawn',
      message: `${done}: its turn ended at ${clock(answer.decidedAt)}, before anybody decided`,
      next: `turnkeeper why ${turnId}`,
      exitCode: EXIT.conflict,
    });
  }
  const ago = duration(Date.now() - answer.decidedAt);
  const comment = answer.comment === '' ? '' : `, ${JSON.stringify(answer.comment)}`;
  throw new CommandError({
    code: 'already_decided',
    message: `${answer.by} ${answer.status} this ${ago} ago (${iso(answer.decidedAt)}${comment}). You changed nothing`,
    next: `turnkeeper why ${turnId}`,
    exitCode: EXIT.conflict,
  });
}
