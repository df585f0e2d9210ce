import type {
  CallResult,
  EffectStatus,
  Ending,
  EventOf,
  Limits,
  PlannedEffect,
  Proposal,
  VerificationRead,
} from '../contracts/index.ts';
import type { LoopPhase } from './transitions.ts';

/** A write and how far it got. `answered`: the backend acknowledged it, so a re-read that finds nothing is conclusive. */
export type EffectState = PlannedEffect & {
  status: EffectStatus | 'planned';
  answered: boolean;
  validUntil?: number;
  reads: readonly VerificationRead[];
};

/** One proposed call on its way through a round. */
export type CallState = {
  id: string;
  tool: string;
  arguments: unknown;
  /** Digest of what is asked for without its cosmetic arguments, where the contract names some. */
  request?: string;
  step:
    | 'proposed'
    | 'awaiting_approval'
    | 'approved'
    | 'admitted'
    | 'running'
    | 'verifying'
    | 'done';
  effect?: EffectState;
  approval?: { id: string; reason: string; seen: unknown; policy?: string };
  /** Where the values of a write came from. */
  origins?: Readonly<Record<string, string | null>>;
  result?: CallResult;
};

/** One model call and what came of it. */
export type Round = {
  proposal: Proposal | null;
  calls: readonly CallState[];
  /** The reply as it goes out, where it is not as the model wrote it. */
  reply?: string;
  /** What the runtime tells the model instead of a tool result: why a finish or an unreadable proposal was sent back. */
  objection?: string;
};

/** Waiting without a worker: still to be parked, parked, or woken and not yet answered. */
export type Waiting = 'to_park' | 'parked' | 'woken';

/** The whole working state of a turn: the fold of its events. */
export type TurnState = {
  phase: LoopPhase;
  intent: string;
  startedAt: number;
  limits: Limits;
  round: number;
  rounds: readonly Round[];
  spent: { toolCalls: number; tokens: number; costMicros: number; parks: number };
  /** Reserved for the open model call. */
  reserved: { tokens: number; costMicros: number };
  modelFailures: number;
  rejectedFinishes: number;
  /** Failures since the last success, by fingerprint of call and result. */
  failures: Readonly<Record<string, number>>;
  waiting?: Waiting;
  /** When a turn that backs off may go on. */
  backOffUntil?: number;
  /** Time spent waiting for a person; no part of the deadline. */
  personWaitMs: number;
  waitingSince?: number;
  /** Who or what stopped the turn from outside its own course. */
  stop?: EventOf<'stop_requested'>;
  ending?: Ending;
  /** The end is on record: nothing follows. */
  closed?: true;
  /** Procedures the turn has loaded, and in which version. */
  skills: readonly { name: string; version: string }[];
};

export function initialState(limits: Limits): TurnState {
  return {
    phase: 'queued',
    intent: '',
    startedAt: 0,
    limits,
    round: 0,
    rounds: [],
    spent: { toolCalls: 0, tokens: 0, costMicros: 0, parks: 0 },
    reserved: { tokens: 0, costMicros: 0 },
    modelFailures: 0,
    rejectedFinishes: 0,
    failures: {},
    personWaitMs: 0,
    skills: [],
  };
}

export function currentCalls(state: TurnState): readonly CallState[] {
  return state.rounds.at(-1)?.calls ?? [];
}

export function allCalls(state: TurnState): readonly CallState[] {
  return state.rounds.flatMap((round) => round.calls);
}

export function callOf(state: TurnState, callId: string): CallState {
  const call = currentCalls(state).find((candidate) => candidate.id === callId);
  if (call === undefined) throw new RangeError(`no call ${callId} in the current round`);
  return call;
}

/** Milliseconds since the epoch at which the turn runs out of time. */
export function deadlineOf(state: TurnState): number {
  return state.startedAt + state.limits.deadlineMs + state.personWaitMs;
}
