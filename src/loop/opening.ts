import { limitsBeside } from '../contracts/index.ts';
import { repliesUsedUp } from './account.ts';
import type { OpenTurn } from './open-turn.ts';
import type { Ports, Signal } from './ports.ts';

/**
 * Starts the turn, or resumes it with whatever it was waiting for. Answers what should stop it right away, once what came
 * in meanwhile has been heard: a request of somebody, or a conversation that has had all the replies it may get.
 */
export function openTurn(turn: OpenTurn, { rules, clock }: Ports): Signal | undefined {
  const { claimed } = turn;
  const at = clock.now();
  if (claimed.events.length === 0) {
    const { intent, owner, claim } = claimed;
    const own = rules.sourceLimits[sourceOf(claim.conversationId)];
    const limits = limitsBeside({ ...rules.limits, ...own });
    turn.apply({ type: 'turn_started', at, intent, owner, limits });
    return (
      claimed.signal ?? (repliesUsedUp(claimed, rules, at) ? { cause: 'max_replies' } : undefined)
    );
  }
  turn.apply({ type: 'turn_resumed', at, epoch: claimed.epoch });
  hearReads(turn, at);
  hearDecision(turn);
  return claimed.signal;
}

function hearReads(turn: OpenTurn, at: number): void {
  const { park, reads = [] } = turn.claimed;
  if (park?.callId === undefined) return;
  for (const { read, final } of reads) {
    if (turn.state.phase !== 'awaiting_verification') return;
    turn.apply({ type: 'verification_read', at, callId: park.callId, read, final });
  }
}

function hearDecision(turn: OpenTurn): void {
  const { approval } = turn.claimed;
  if (turn.state.phase !== 'awaiting_approval') return;
  if (approval === undefined || approval.status === 'pending') return;
  const { id, status, by, comment, decidedAt } = approval;
  turn.apply({
    type: 'approval_decided',
    at: decidedAt,
    approvalId: id,
    decision: status,
    by,
    ...(comment === undefined ? {} : { comment }),
  });
}

/** Each source has its own accounts; its name is the first part of the conversation's. */
function sourceOf(conversationId: string): string {
  return conversationId.slice(0, conversationId.indexOf('/'));
}
