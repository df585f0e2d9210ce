import type { ApprovalRequest, Park } from '../contracts/index.ts';
import type { ClaimedTurn, Toolbox } from './ports.ts';
import { hashOfCall, inputOf } from './reservation.ts';
import { currentCalls, type CallState, type TurnState } from './state.ts';

type Moment = { at: number; state: TurnState; claimed: ClaimedTurn; tools: Toolbox };

/** What a turn is going to wait for, and until when at the latest. */
export function planPark(kind: Park['kind'], moment: Moment): Park {
  const { at, state, claimed, tools } = moment;
  const next = state.spent.parks + 1;
  switch (kind) {
    case 'back_off':
      return { number: next, kind, dueAt: state.backOffUntil ?? at };
    case 'approval': {
      const call = callIn(state, 'awaiting_approval');
      const approvalId = call.approval?.id ?? '';
      const { park } = claimed;
      // Woken without a decision, it goes on waiting for what is left of the same approval.
      if (park?.approvalId === approvalId) return park;
      const dueAt = at + state.limits.approvalMs;
      return { number: next, kind, dueAt, callId: call.id, approvalId };
    }
    case 'verification': {
      const call = callIn(state, 'verifying');
      // Before its validity has passed, a re-read cannot tell that an unanswered call is lost.
      const conclusiveAt = call.effect?.answered === false ? (call.effect.validUntil ?? 0) + 1 : 0;
      const dueAt = Math.max(at + readPlan(tools, call).backoffMs, conclusiveAt);
      // Woken without a verdict, it is the same park that goes on.
      const { park, reads = [] } = claimed;
      const number = park?.callId === call.id && reads.length === 0 ? park.number : next;
      return { number, kind, dueAt, callId: call.id };
    }
    default:
      return kind satisfies never;
  }
}

/** Re-reads still to be made of an effect, and how far apart in milliseconds: the delay doubles up to its cap. */
export type ReadPlan = { attempts: number; backoffMs: number; maxBackoffMs: number };

export function readPlan(tools: Toolbox, call: CallState): ReadPlan {
  const verify = tools.find(call.tool)?.verify;
  const made = call.effect?.reads.length ?? 0;
  return {
    attempts: Math.max(1, (verify?.attempts ?? 4) - made),
    backoffMs: verify?.backoffMs ?? 1_000,
    maxBackoffMs: verify?.maxBackoffMs ?? 60_000,
  };
}

/** What a person is asked to agree to, if the park waits for one: the frozen action and what they see of the world. */
export function approvalRequest(park: Park, moment: Moment): ApprovalRequest | undefined {
  if (park.kind !== 'approval') return undefined;
  const { at, state, claimed } = moment;
  const call = callIn(state, 'awaiting_approval');
  const { id: callId, tool, approval, effect } = call;
  const { conversationId, turnId } = claimed.claim;
  return {
    id: approval?.id ?? '',
    conversationId,
    turnId,
    callId,
    tool,
    arguments: inputOf(call, moment.tools),
    actionHash: hashOfCall(call, moment.tools),
    operation: effect?.operation ?? '',
    reason: approval?.reason ?? '',
    ...(call.origins === undefined ? {} : { origins: call.origins }),
    ...(approval?.policy === undefined ? {} : { policy: approval.policy }),
    seen: approval?.seen,
    requestedAt: at,
    expiresAt: park.dueAt,
  };
}

function callIn(state: TurnState, step: CallState['step']): CallState {
  const call = currentCalls(state).find((one) => one.step === step);
  if (call === undefined) throw new RangeError(`no call is ${step}`);
  return call;
}
