import { turnEventSchema, type Observation, type TurnEvent } from '../contracts/index.ts';
import { canonicalJson, measureOf } from '../loop/index.ts';

/**
 * Events as they lie in Redis: the type, and JSON of the rest without defaults, without what an observation only repeats of
 * its event (call id, time), without what is the same in all of them (the trust label) and without what its data tell
 * (size and hash, where the data are whole). They are most of what a parked turn costs.
 */
export function encodeEvent(event: TurnEvent): string {
  const { type, ...rest } = event;
  return `${type} ${JSON.stringify({ ...rest, ...slim(event) })}`;
}

/** The parts of an event that are stored otherwise than they are. */
function slim(event: TurnEvent): object {
  switch (event.type) {
    case 'turn_started':
      return {
        owner: event.owner === 'agent' ? undefined : event.owner,
        limits: Object.keys(event.limits).length === 0 ? undefined : event.limits,
      };
    case 'calls_checked':
      return {
        verdicts: event.verdicts.map((verdict) =>
          'effect' in verdict && verdict.effect.occurrence === ''
            ? { ...verdict, effect: { ...verdict.effect, occurrence: undefined } }
            : verdict,
        ),
      };
    case 'call_settled': {
      const { result } = event;
      if (result.kind !== 'ok') return {};
      return { result: { ...result, observation: slimmed(result.observation) } };
    }
    case 'verification_read': {
      const { read, final } = event;
      const { observation } = read;
      return {
        final: final || undefined,
        ...(observation && { read: { ...read, observation: slimmed(observation) } }),
      };
    }
    default:
      return {};
  }
}

function slimmed({ callId: _callId, trust: _trust, at: _at, ...rest }: Observation): object {
  if (rest.truncated === true) return rest;
  const { size: _size, hash: _hash, ...whole } = rest;
  return whole;
}

/** @throws ZodError or SyntaxError when the text is no event of ours */
export function decodeEvent(text: string): TurnEvent {
  // Earlier versions wrote the type into the JSON.
  const start = text.indexOf('{');
  const type = start === 0 ? undefined : text.slice(0, start - 1);
  const stored = JSON.parse(text.slice(start)) as {
    type?: string;
    at: number;
    callId?: string;
    result?: { observation?: object };
    read?: { at: number; observation?: object };
  };
  const { at, callId, result, read } = stored;
  if (result?.observation) result.observation = whole({ callId, at }, result.observation);
  if (read?.observation) read.observation = whole({ callId, at: read.at }, read.observation);
  return turnEventSchema.parse({ ...stored, type: type ?? stored.type });
}

function whole(
  event: { callId: string | undefined; at: number },
  stored: { data?: unknown; size?: number },
): object {
  const measure = stored.size === undefined ? measureOf(canonicalJson(stored.data)) : {};
  return { ...event, trust: 'untrusted', ...measure, ...stored };
}
