import type {
  CallResult,
  CallVerdict,
  EffectRefusal,
  Ending,
  PlannedEffect,
  VerificationRead,
} from '../contracts/index.ts';
import type { CallState, EffectState } from './state.ts';

// The life of one call: proposed, checked, started, settled, verified. Each step takes the call and gives it back changed.

export function checked(before: CallState, verdict: CallVerdict, at: number): CallState {
  const call: CallState = {
    ...before,
    ...('request' in verdict && verdict.request !== undefined ? { request: verdict.request } : {}),
    ...('origins' in verdict && verdict.origins !== undefined ? { origins: verdict.origins } : {}),
  };
  switch (verdict.kind) {
    case 'admitted_read':
      return { ...call, step: 'admitted' };
    case 'admitted_write':
      return { ...call, step: 'admitted', effect: planned(verdict.effect) };
    case 'needs_approval':
      return {
        ...call,
        step: 'awaiting_approval',
        effect: planned(verdict.effect),
        approval: {
          id: verdict.approvalId,
          reason: verdict.reason,
          seen: verdict.seen,
          ...(verdict.policy === undefined ? {} : { policy: verdict.policy }),
        },
      };
    case 'on_record':
      return onRecord({ ...call, effect: planned(verdict.effect) }, verdict.refusal, at);
    case 'rejected': {
      const { check, code, message } = verdict;
      return { ...call, step: 'done', result: { kind: 'rejected', check, code, message } };
    }
    default:
      return verdict satisfies never;
  }
}

function planned(effect: PlannedEffect): EffectState {
  return { ...effect, status: 'planned', answered: false, reads: [] };
}

export function started(call: CallState, validUntil: number | undefined): CallState {
  if (call.effect === undefined) return { ...call, step: 'running' };
  return {
    ...call,
    step: 'running',
    effect: {
      ...call.effect,
      status: 'attempted',
      ...(validUntil === undefined ? {} : { validUntil }),
    },
  };
}

const REFUSALS = {
  duplicate: 'this operation is on record already',
  conflict:
    'the same operation is on record with other arguments; it is not done a second time. If this is a further one, name the earlier operation it follows',
  possible_repeat:
    'an earlier message of this conversation led to the same action; it is not done a second time',
  unknown_predecessor: 'the operation it should follow is not on record as verified',
} as const satisfies Record<EffectRefusal['refusal'], string>;

/** The ledger holds the operation already: its earlier outcome counts, once it is verified. */
export function onRecord(call: CallState, refusal: EffectRefusal, at: number): CallState {
  const { earlier } = refusal;
  if (refusal.refusal !== 'duplicate' || earlier === undefined || call.effect === undefined) {
    return {
      ...call,
      step: 'done',
      result: {
        kind: 'rejected',
        check: 'idempotency',
        code: refusal.refusal,
        message: `${REFUSALS[refusal.refusal]}${earlier === undefined ? '' : ` (${earlier.operation}, ${earlier.status})`}.`,
      },
    };
  }
  const result: CallResult = {
    kind: 'ok',
    earlier: true,
    observation: {
      callId: call.id,
      provenance: `ledger:${call.tool}`,
      trust: 'untrusted',
      at,
      data: earlier.outcome ?? null,
      size: 0,
      hash: '',
    },
  };
  const effect: EffectState = {
    ...call.effect,
    status: earlier.status,
    answered: earlier.status === 'applied' || earlier.status === 'verified',
    ...(earlier.validUntil === undefined ? {} : { validUntil: earlier.validUntil }),
  };
  if (earlier.status === 'verified') return { ...call, step: 'done', effect, result };
  return {
    ...call,
    step: 'verifying',
    effect: effect.answered ? effect : { ...effect, status: 'unknown' },
    result,
  };
}

export function settled(call: CallState, result: CallResult): CallState {
  const { effect } = call;
  if (effect === undefined) return { ...call, step: 'done', result };
  switch (result.kind) {
    case 'ok':
      return { ...call, step: 'verifying', result, effect: answer(effect, 'applied') };
    case 'refused':
      return { ...call, step: 'done', result, effect: answer(effect, 'rejected') };
    case 'failed':
    case 'rejected':
      return { ...call, step: 'done', result, effect: { ...effect, status: 'not_landed' } };
    case 'unknown':
      return { ...call, step: 'verifying', result, effect: { ...effect, status: 'unknown' } };
    default:
      return result satisfies never;
  }
}

function answer(effect: EffectState, status: 'applied' | 'rejected'): EffectState {
  return { ...effect, status, answered: true };
}

const LOST: CallResult = {
  kind: 'failed',
  code: 'not_landed',
  message: 'the call was lost before it had any effect; it may be asked for again',
  transient: true,
};

/** What a re-read proves of a call, and where the turn goes with it. */
export type Proof = { call: CallState; next: 'go_on' | 'wait' | Ending };

/**
 * What a re-read of the world means for the effect. `not_landed` is believed of a call that was answered, or whose
 * validity has passed: before that a late arrival could still land.
 */
export function proven(before: CallState, read: VerificationRead, final: boolean): Proof {
  if (before.effect === undefined) throw new RangeError(`call ${before.id} has no effect`);
  const effect: EffectState = { ...before.effect, reads: [...before.effect.reads, read] };
  const call: CallState = { ...before, effect };
  switch (read.verdict) {
    case 'landed':
      return { call: done(call, 'verified', landedResult(call, read)), next: 'go_on' };
    case 'blocked':
      return { call, next: NOT_VERIFIED };
    case 'not_landed': {
      const { answered, validUntil = Infinity } = effect;
      if (!answered && read.at > validUntil) {
        return { call: done(call, 'not_landed', LOST), next: 'go_on' };
      }
      if (!final) return { call, next: 'wait' };
      return answered
        ? { call: { ...call, effect: { ...effect, status: 'not_landed' } }, next: NOT_VERIFIED }
        : { call, next: EFFECT_UNKNOWN };
    }
    case 'pending':
    case 'unknown':
      if (!final) return { call, next: 'wait' };
      return { call, next: effect.answered ? NOT_VERIFIED : EFFECT_UNKNOWN };
    default:
      return read.verdict satisfies never;
  }
}

const NOT_VERIFIED: Ending = { outcome: 'escalated', reason: 'verification_failed' };
const EFFECT_UNKNOWN: Ending = { outcome: 'escalated', reason: 'effect_unknown' };

function done(call: CallState, status: 'verified' | 'not_landed', result: CallResult): CallState {
  return {
    ...call,
    step: 'done',
    result,
    ...(call.effect && { effect: { ...call.effect, status } }),
  };
}

/** What the tool said stands; when its answer was lost, what the re-read found takes its place. */
function landedResult(call: CallState, read: VerificationRead): CallResult {
  if (call.result?.kind === 'ok') return call.result;
  if (read.observation !== undefined) return { kind: 'ok', observation: read.observation };
  throw new RangeError(`call ${call.id} landed without an observation`);
}
