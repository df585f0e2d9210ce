import type { TurnEvent } from '../contracts/index.ts';
import type { Change, Posted } from '../producers/ingress/index.ts';
import type { ApprovalAnswer } from '../store/index.ts';

/** What an act came to, by name; what else it says is passed on to the caller as it is. */
export type ActResult = { kind: string };

/** The acts of a person on turns, conversations, approvals and effects. Who they are comes from their key. */
export interface OperatorPort {
  cancel(turnId: string, act: { by: string; reason: string }): Promise<ActResult>;
  /** `message`: what the person wrote to the customer in public, with the id its source gave it. */
  takeOver(
    conversationId: string,
    act: { by: string; reason: string; message?: { messageId: string; text: string } },
  ): Promise<ActResult>;
  release(
    conversationId: string,
    act: { by: string; reason: string },
  ): Promise<'released' | 'already' | 'not_found'>;
  decideApproval(
    id: string,
    decision: 'approved' | 'rejected',
    act: { by: string; comment: string },
  ): Promise<ApprovalAnswer>;
  settleEffect(
    operation: string,
    verdict: 'applied' | 'not_applied',
    act: { by: string; evidence: string },
  ): Promise<ActResult>;
}

/** Which ended turns a batch takes. An absent field does not narrow it. */
export type ReprocessFilter = {
  outcome?: string | undefined;
  reason?: string | undefined;
  tool?: string | undefined;
  source?: string | undefined;
  skill?: string | undefined;
  model?: string | undefined;
  conversation?: string | undefined;
  /** Ended at or after, and before. Milliseconds since the epoch. */
  from?: number | undefined;
  to?: number | undefined;
  /** Cases at most. */
  limit?: number | undefined;
};

export type ReprocessAct = { by: string; name: string; reason: string };

/** A batch as it is shown. `source`: the only one it touches, null for all of them. */
export type ReprocessBatch = { id: string; source: string | null };

export const REPROCESS_MOVES = ['run', 'pause', 'resume', 'abort'] as const;
export type ReprocessMove = (typeof REPROCESS_MOVES)[number];

/** Batch reprocessing: a frozen plan first, then what is done with it. */
export interface ReprocessPort {
  plan(filter: ReprocessFilter, act: ReprocessAct): Promise<ReprocessBatch>;
  status(id: string): Promise<ReprocessBatch | undefined>;
  move(id: string, move: ReprocessMove, act: { by: string; reason: string }): Promise<ActResult>;
}

/** What deliveries of ticketing systems need beyond the intake. Ids of conversations are ours. */
export interface WebhookPort {
  /** What we have posted in a conversation, to tell it when it comes back. */
  posted(conversationId: string): Promise<Posted>;
  /** A ticket was closed, reopened, merged or deleted. `into`: where it went on. */
  changed(
    conversationId: string,
    what: { change: Exclude<Change['change'], 'with_people'>; into?: string },
  ): Promise<void>;
}

/** The events of a turn, those on record first, then as they happen; over when the turn has ended. */
export interface TurnFeedPort {
  follow(
    turnId: string,
    signal: AbortSignal,
    after?: number,
  ): AsyncIterable<TurnEvent | { type: 'model_writing'; text: string }>;
  close(): void;
}
