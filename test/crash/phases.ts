import { decodeEvent } from '../../src/store/event-codec.ts';
import { key } from '../../src/store/keys.ts';
import type { Onlooker } from './stage.ts';

/**
 * Where a conversation is when a fault strikes. `acting` is validating_actions and running_tools: between two outside calls
 * the one becomes the other without a step on record.
 */
export const PHASES_HIT = [
  'requesting_model',
  'acting',
  'awaiting_verification',
  'awaiting_approval',
  'idle',
] as const;
export type PhaseHit = (typeof PHASES_HIT)[number];

export type Sample = { conversationId: string; phase: PhaseHit; workerId: string };

/** Where every conversation is right now and which worker had it last. Nobody had one that nobody wrote to. */
export async function sample(
  onlooker: Onlooker,
  conversationIds: readonly string[],
): Promise<Sample[]> {
  const samples = await Promise.all(conversationIds.map((id) => sampleOne(onlooker, id)));
  return samples.flatMap((one) => one ?? []);
}

export async function sampleOne(
  { redis, store }: Onlooker,
  conversationId: string,
): Promise<Sample | undefined> {
  const tag = store.tagOf(conversationId);
  const fields = ['turn', 'worker', 'claimSeq'] as const;
  const [turn, workerId, claimSeq] = await redis.hmget(key(tag, 'conv', conversationId), ...fields);
  if (workerId === null || workerId === undefined) return undefined;
  if (turn === null || turn === undefined) return { conversationId, phase: 'idle', workerId };
  const [last, length] = await Promise.all([
    redis.lindex(key(tag, 'events', turn), -1),
    redis.llen(key(tag, 'events', turn)),
  ]);
  const phase = phaseAfter(last, length === Number(claimSeq));
  return { conversationId, phase, workerId };
}

/** @param fresh the claim at hand has put nothing on record yet */
function phaseAfter(last: string | null, fresh: boolean): PhaseHit {
  if (last === null) return 'requesting_model';
  const event = decodeEvent(last);
  switch (event.type) {
    case 'turn_parked':
      if (fresh || event.park.kind === 'back_off') return 'acting';
      return event.park.kind === 'approval' ? 'awaiting_approval' : 'awaiting_verification';
    case 'model_requested':
      return 'requesting_model';
    default:
      return 'acting';
  }
}
