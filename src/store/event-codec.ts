import { turnEventSchema, type Observation, type TurnEvent } from '../contracts/index.ts';

/**
 * Events as they lie in Redis: JSON without defaults, without what an observation only repeats of its event (call id,
 * time) and without what is the same in all of them (the trust label). They are most of what a parked turn costs.
 */
export function encodeEvent(event: TurnEvent): string {
  if (event.type === 'turn_started') {
    const { owner, limits, ...rest } = event;
    return JSON.stringify({
      ...rest,
      ...(owner === 'agent' ? {} : { owner }),
      ...(Object.keys(limits).length === 0 ? {} : { limits }),
    });
  }
  if (event.type === 'call_settled' && event.result.kind === 'ok') {
    const observation = slim(event.result.observation);
    return JSON.stringify({ ...event, result: { ...event.result, observation } });
  }
  if (event.type === 'verification_read' && event.read.observation !== undefined) {
    const observation = slim(event.read.observation);
    return JSON.stringify({ ...event, read: { ...event.read, observation } });
  }
  return JSON.stringify(event);
}

/** @throws ZodError when the text is no event of ours */
export function decodeEvent(json: string): TurnEvent {
  const stored = JSON.parse(json) as {
    at: number;
    callId?: string;
    result?: { observation?: object };
    read?: { at: number; observation?: object };
  };
  const { callId, result, read } = stored;
  if (result?.observation !== undefined) {
    result.observation = { callId, trust: 'untrusted', at: stored.at, ...result.observation };
  }
  if (read?.observation !== undefined) {
    read.observation = { callId, trust: 'untrusted', at: read.at, ...read.observation };
  }
  return turnEventSchema.parse(stored);
}

function slim({ callId: _callId, trust: _trust, at: _at, ...rest }: Observation): object {
  return rest;
}
