import type { TurnEvent } from '../../contracts/index.ts';
import { canonicalJson, sha256, type CallState, type TurnState } from '../../loop/index.ts';
import type { Attributes } from '../trace.ts';

/** A call by references and digests: what it was called with stays in the record. */
export function aboutCall(call: CallState): Attributes {
  const { effect, approval } = call;
  return {
    callId: call.id,
    argumentsDigest: sha256(canonicalJson(call.arguments)).slice(0, 16),
    ...(effect === undefined
      ? {}
      : { actionId: effect.operation, resource: effect.resource, effectStatus: effect.status }),
    ...(approval === undefined ? {} : { approvalId: approval.id }),
  };
}

/** What an event knows beyond its span. */
export function detailsOf(event: TurnEvent, before: TurnState): Attributes {
  switch (event.type) {
    case 'model_responded':
    case 'model_failed':
      return { retry: before.modelFailures, latencyMs: event.latencyMs };
    case 'call_settled': {
      const { result, latencyMs } = event;
      if (result.kind !== 'ok') return { latencyMs };
      const { provenance, trust, size, hash } = result.observation;
      return { latencyMs, provenance, trust, size, resultHash: hash };
    }
    case 'verification_read': {
      const { latencyMs, observation } = event.read;
      if (observation === undefined) return { latencyMs };
      return { latencyMs, provenance: observation.provenance, resultHash: observation.hash };
    }
    default:
      return {};
  }
}
