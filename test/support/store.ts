import { randomUUID } from 'node:crypto';
import { inject, onTestFinished } from 'vitest';
import { DEFAULT_LIMITS, type TurnEvent } from '../../src/contracts/index.ts';
import type { Claim, ClaimedTurn, Commit, Reservation, Transition } from '../../src/loop/index.ts';
import { connect, Store, type StoreOptions } from '../../src/store/index.ts';
import { Records } from '../../src/store/records.ts';

const ACCOUNT = {
  ...{ tokens: 0, costMicros: 0, replies: 0, day: '2026-12-01' },
  ...{ dayTokens: 0, dayCostMicros: 0, dayReplies: 0 },
};

/** Ids of the messages of the turns claimed here. */
const messagesOf = new Map<string, string[]>();

/** A store on the real Redis of the run, under a prefix of its own, with a clock that a test may move. */
export async function openStore(options: Partial<Omit<StoreOptions, 'redis'>> = {}) {
  const redis = connect(inject('redisUrl'));
  const clock = { offsetMs: 0 };
  const prefix = `s${randomUUID().slice(0, 8)}-`;
  const store = new Store({ redis, prefix, clockOffsetMs: () => clock.offsetMs, ...options });
  await store.open();
  onTestFinished(async () => {
    await redis.quit();
  });
  const claim = async (conversationId = 'test/c1', jobId = 'job1'): Promise<ClaimedTurn> => {
    const reply = await store.claimTurn(conversationId, { jobId, workerId: 'w1' });
    if (reply.kind !== 'claimed') throw new Error(`not claimed: ${reply.kind}`);
    messagesOf.set(
      reply.turn.claim.turnId,
      reply.turn.messages.map(({ id }) => id),
    );
    return reply.turn;
  };
  return { store, redis, records: new Records(store), clock, prefix, claim };
}

export const opened: TurnEvent = {
  type: 'turn_started',
  at: 1,
  intent: 'i1',
  owner: 'agent',
  limits: DEFAULT_LIMITS,
};

export function transition(seq: number, ...events: TurnEvent[]): Transition {
  const list = events.length > 0 ? events : [opened];
  return { seq, events: list, moves: [] };
}

export const ended: TurnEvent = {
  type: 'turn_ended',
  at: 2,
  ending: { outcome: 'completed', reason: 'replied' },
};

export function committing(claim: Claim, overrides: Partial<Commit> = {}): Commit {
  return {
    ending: { outcome: 'completed', reason: 'replied' },
    answered: messagesOf.get(claim.turnId) ?? [],
    history: { kind: 'turn', turnId: claim.turnId, customer: ['hi'], rounds: [], reply: 'yo' },
    deliveries: [{ id: `d-${claim.turnId}`, kind: 'reply', text: 'yo', turnId: claim.turnId }],
    facts: {},
    handsOver: false,
    account: ACCOUNT,
    ...overrides,
  };
}

export function reservation(overrides: Partial<Reservation> = {}): Reservation {
  return {
    operation: 'op1',
    tool: 'issue_refund',
    resource: 'order:1',
    occurrence: '',
    actionHash: 'hash1',
    callId: '1.1',
    arguments: { orderId: '1' },
    ...overrides,
  };
}
