import { TurnkeeperError, type TurnEventType } from '../contracts/index.ts';
import type { LoopPhase } from './transitions.ts';

/** An event arrived in a phase in which it cannot happen: a defect of the host, never of the model. */
export class IllegalTransitionError extends TurnkeeperError {
  readonly code = 'illegal_transition';

  constructor(phase: LoopPhase, event: TurnEventType, to?: LoopPhase) {
    super(
      to === undefined
        ? `${event} cannot happen in phase ${phase}`
        : `${event} may not lead from phase ${phase} to ${to}`,
    );
  }
}

/** Another claim has taken the turn over: whatever this worker still does must not be stored. */
export class LostClaimError extends TurnkeeperError {
  readonly code = 'lost_claim';

  constructor(conversationId: string) {
    super(`the claim on conversation ${conversationId} was taken over by another worker`);
  }
}
