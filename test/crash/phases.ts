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

export type Sample = { phase: PhaseHit; workerId: string };

/** Where every conversation is right now and which worker had it last. */
export async function sample(
  { redis, store }: Onlooker,
  conversationIds: readonly string[],
): Promise<Sample[]> {
  const conversations = await Promise.all(
    conversationIds.map(async (id) => {
      const tag = store.tagOf(id);
      const [turn, workerId, idle] = await redis.hmget(key(tag, 'conv', id), 'turn', 'worker', 'idle');
      if (workerId === null || workerId === undefined) return [];
      if (turn === null || turn === undefined) return [{ phase: 'idle', workerId } as const];
      const [phase, parkDueAt] = await redis.hmget(key(tag, 'turn', turn), 'phase', 'parkDueAt');
      return [{ phase: hit(phase ?? '', { parked: Boolean(parkDueAt), resumed: idle === '1' }), workerId }];
    }),
  );
  return conversations.flat();
}

/** A parked turn that is claimed again looks parked until its next step is on record. */
function hit(phase: string, { parked, resumed }: { parked: boolean; resumed: boolean }): PhaseHit {
  if (parked && resumed) return 'acting';
  switch (phase) {
    case 'awaiting_verification':
    case 'awaiting_approval':
      return phase;
    case 'running_tools':
    case 'validating_actions':
      return 'acting';
    default:
      return 'requesting_model';
  }
}
