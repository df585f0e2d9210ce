import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { EffectStatus, Park, ToolContract } from '../../src/contracts/index.ts';
import { DEFAULT_LIMITS } from '../../src/contracts/index.ts';
import {
  actionHash,
  initialState,
  readPlan,
  type CallState,
  type ClaimedTurn,
  type TurnState,
} from '../../src/loop/index.ts';
import { hashOfCall, reservationOf } from '../../src/loop/reservation.ts';
import { howAsked, howCalled, leftOpen, UnderWay } from '../../src/loop/under-way.ts';
import { approvalRequest, planPark } from '../../src/loop/waiting.ts';
import { ToolExecutor, ToolRegistry } from '../../src/tools/index.ts';
import { contract } from './contract.ts';

const AT = 1_000;
const claim = {
  ...{ conversationId: 'test/c1', turnId: 't1', intent: 'i1' },
  ...{ token: '1', jobId: 'j', workerId: 'w' },
};
type Verify = Partial<NonNullable<ToolContract['verify']>>;

function moment(
  state: Partial<TurnState>,
  claimed: Partial<ClaimedTurn> = {},
  verify: Verify = {},
) {
  const send = contract();
  const full = send.verify && { verify: { ...send.verify, ...verify } };
  return {
    at: AT,
    state: { ...initialState(DEFAULT_LIMITS), ...state },
    claimed: { claim, ...claimed } as ClaimedTurn,
    tools: new ToolExecutor(new ToolRegistry([{ ...send, ...full }]), { now: () => AT }),
  };
}

function call(step: CallState['step'], effect: Partial<CallState['effect']> = {}): CallState {
  return {
    ...{ id: '2.1', tool: 'send_money', arguments: { amount: 5 }, step },
    effect: {
      ...{ operation: 'xop', resource: 'account:1', occurrence: '' },
      ...{ status: 'applied' as EffectStatus, answered: true, reads: [] },
      ...effect,
    },
  };
}
const roundOf = (...calls: CallState[]) => ({ rounds: [{ proposal: null, calls }] });
const spent = (parks: number) => ({ spent: { toolCalls: 0, tokens: 0, costMicros: 0, parks } });
const aRead = { verdict: 'pending', at: 1, latencyMs: 1 } as const;

describe('a park', () => {
  test('after a failed model call it is the next one and lasts until the turn may come back', () => {
    expect(planPark('back_off', moment({ backOffUntil: 5_000, ...spent(2) }))).toEqual({
      ...{ number: 3, kind: 'back_off', dueAt: 5_000 },
    });
    expect(planPark('back_off', moment({}))).toMatchObject({ number: 1, dueAt: AT });
  });

  test('for a person it lasts as long as an approval may, and goes on where it was woken without a decision', () => {
    const waiting: CallState = {
      ...call('awaiting_approval'),
      approval: { id: 'a1', reason: 'r', seen: null },
    };
    const other = call('done');
    const state = { ...roundOf(other, { ...waiting, id: '2.2' }), ...spent(1) };
    const earlier: Park = {
      number: 1,
      kind: 'approval',
      dueAt: 9,
      approvalId: 'a1',
      callId: '2.2',
    };

    expect(planPark('approval', moment(state))).toEqual({
      ...{ number: 2, kind: 'approval', dueAt: AT + DEFAULT_LIMITS.approvalMs },
      ...{ callId: '2.2', approvalId: 'a1' },
    });
    expect(planPark('approval', moment(state, { park: earlier }))).toEqual(earlier);
    expect(
      planPark('approval', moment(state, { park: { ...earlier, approvalId: 'a0' } })).number,
    ).toBe(2);
  });

  test('for a re-read it lasts one delay, or until an unanswered call can be told to be lost', () => {
    const plan = (effect: Partial<CallState['effect']>, verify: Verify = {}) =>
      planPark('verification', moment(roundOf(call('verifying', effect)), {}, verify)).dueAt;

    expect(plan({})).toBe(AT + 1_000);
    expect(plan({}, { backoffMs: 10 })).toBe(AT + 10);
    expect(plan({ validUntil: 99_000 })).toBe(AT + 1_000);
    expect(plan({ answered: false, validUntil: 99_000 })).toBe(99_001);
    expect(plan({ answered: false })).toBe(AT + 1_000);
  });

  test('for a re-read it is the same one when it was woken without a verdict, else the next', () => {
    const state = { ...roundOf(call('verifying')), ...spent(1) };
    const park: Park = { number: 1, kind: 'verification', dueAt: 9, callId: '2.1' };
    const numberOf = (claimed: Partial<ClaimedTurn>) =>
      planPark('verification', moment(state, claimed)).number;

    expect(numberOf({ park })).toBe(1);
    expect(numberOf({ park, reads: [] })).toBe(1);
    expect(numberOf({ park, reads: [{ read: aRead, final: false }] })).toBe(2);
    expect(numberOf({ park: { ...park, callId: '1.1' } })).toBe(2);
    expect(numberOf({})).toBe(2);
  });

  test('without a call that waits there is nothing to plan', () => {
    expect(() => planPark('approval', moment(roundOf(call('done'))))).toThrow('awaiting_approval');
    expect(() => planPark('verification', moment({}))).toThrow('verifying');
  });
});

describe('re-reads', () => {
  const plan = (reads: number, verify: Verify = {}) => {
    const { tools } = moment({}, {}, verify);
    return readPlan(
      tools,
      call('verifying', { reads: Array.from({ length: reads }, () => aRead) }),
    );
  };

  test('four in all by default, one second apart at first and a minute at most', () => {
    expect(plan(0)).toEqual({ attempts: 4, backoffMs: 1_000, maxBackoffMs: 60_000 });
    expect(plan(3).attempts).toBe(1);
    expect(plan(9).attempts).toBe(1);
  });

  test('as the contract says', () => {
    expect(plan(1, { attempts: 7, backoffMs: 2, maxBackoffMs: 3 })).toEqual({
      ...{ attempts: 6, backoffMs: 2, maxBackoffMs: 3 },
    });
  });

  test('a tool nobody knows is read by default', () => {
    const { tools } = moment({});
    expect(readPlan(tools, { ...call('verifying'), tool: 'gone' }).attempts).toBe(4);
  });
});

describe('what a person is asked', () => {
  const waiting: CallState = {
    ...call('awaiting_approval'),
    approval: { id: 'a1', reason: 'much money', seen: { status: 'paid' }, policy: 'v1' },
    origins: { amount: 'customer' },
  };
  const park: Park = { number: 1, kind: 'approval', dueAt: 7_000, approvalId: 'a1', callId: '2.1' };

  test('is the frozen call with its digest, its operation, why, from where, under which policy, and until when', () => {
    expect(approvalRequest(park, moment(roundOf(waiting)))).toEqual({
      ...{ id: 'a1', conversationId: 'test/c1', turnId: 't1', callId: '2.1' },
      ...{ tool: 'send_money', arguments: { amount: 5 }, operation: 'xop' },
      actionHash: actionHash('send_money', { amount: 5 }),
      ...{ reason: 'much money', origins: { amount: 'customer' }, policy: 'v1' },
      ...{ seen: { status: 'paid' }, requestedAt: AT, expiresAt: 7_000 },
    });
  });

  test('leaves out what is not known', () => {
    const { origins: _origins, ...plain } = waiting;
    const bare = { ...plain, approval: { id: 'a1', reason: 'r', seen: null } };
    const request = approvalRequest(park, moment(roundOf(bare)));

    expect(request).not.toHaveProperty('origins');
    expect(request).not.toHaveProperty('policy');
  });

  test('is nothing in any other wait', () => {
    expect(approvalRequest({ ...park, kind: 'back_off' }, moment({}))).toBeUndefined();
  });
});

describe('the row of a write that is about to be sent', () => {
  const effect = { operation: 'xop', resource: 'account:1', occurrence: 'L1' };

  test('names everything a repeat or a conflict is told by', () => {
    const { tools } = moment({});

    expect(reservationOf(call('admitted'), { ...effect, after: 'xop0' }, tools, 99)).toEqual({
      ...effect,
      ...{ tool: 'send_money', callId: '2.1', arguments: { amount: 5 }, after: 'xop0' },
      ...{ actionHash: actionHash('send_money', { amount: 5 }), validUntil: 99 },
    });
    const plain = reservationOf(call('admitted'), effect, tools);
    expect(plain).not.toHaveProperty('after');
    expect(plain).not.toHaveProperty('validUntil');
  });

  test('the digest is taken of what the tool understands, or of what was said where it understands nothing', () => {
    const input = z.object({ amount: z.number().default(5) });
    const send = contract({ input, provenance: { amount: 'model' } });
    const tools = new ToolExecutor(new ToolRegistry([send]), { now: () => AT });

    expect(hashOfCall({ ...call('admitted'), arguments: {} }, tools)).toBe(
      actionHash('send_money', { amount: 5 }),
    );
    expect(hashOfCall({ ...call('admitted'), tool: 'gone', arguments: 'x' }, tools)).toBe(
      actionHash('gone', 'x'),
    );
    expect(hashOfCall({ ...call('admitted'), arguments: 'x' }, tools)).toBe(
      actionHash('send_money', 'x'),
    );
  });
});

describe('[S4-44] what a stop meets', () => {
  const ticking = () => {
    const clock = { ms: 0, now: () => clock.ms };
    return clock;
  };

  test('nothing before anything ran, and what an earlier worker left open', () => {
    const clock = ticking();

    expect(new UnderWay({ clock }, []).at(5)).toEqual({ running: [], how: 'stopped' });
    expect(new UnderWay({ clock }, ['send_money (2.1)']).at(5)).toEqual({
      running: ['send_money (2.1)'],
      how: 'abandoned',
    });
  });

  test('what ran at that moment, its first and its last one included', async () => {
    const clock = ticking();
    const under = new UnderWay({ clock }, []);
    clock.ms = 10;
    await under.run(['model'], () => {
      clock.ms = 20;
      return Promise.resolve();
    });

    expect([9, 10, 15, 20, 21].map((moment1) => under.at(moment1).running.length)).toEqual([
      0, 1, 1, 1, 0,
    ]);
    expect(under.at(15)).toEqual({ running: ['model'], how: 'completed' });
  });

  test('what was told to stop while it ran, whatever the clocks say; what began after that was not', async () => {
    const clock = ticking();
    const abort = new AbortController();
    const under = new UnderWay({ clock, stop: abort.signal }, []);
    await under.run(
      ['model'],
      () => Promise.resolve(abort.abort()),
      () => 'stopped',
    );
    expect(under.at(999)).toEqual({ running: ['model'], how: 'stopped' });

    await under.run(['get_order (1.1)'], () => Promise.resolve());
    expect(under.at(999)).toEqual({ running: [], how: 'stopped' });
  });

  test('calls side by side came to the worst of their ends', () => {
    const cut = (abandoned: boolean) => ({
      ...{ kind: 'unknown' as const, code: 'stopped', message: '' },
      ...(abandoned ? { abandoned } : {}),
    });
    const refused = { kind: 'refused' as const, code: 'no', message: '' };

    expect(howCalled([])).toBe('completed');
    expect(howCalled([refused])).toBe('completed');
    expect(howCalled([refused, cut(false)])).toBe('stopped');
    expect(howCalled([cut(false), cut(true)])).toBe('abandoned');
    // Left behind for another reason than the stop.
    expect(howCalled([{ ...cut(true), code: 'timed_out' }])).toBe('completed');
  });

  test('a model call came to its end in one of three ways', () => {
    const failure = (kind: 'aborted' | 'timeout', abandoned = false) =>
      howAsked({ ok: false, failure: { kind, ...(abandoned ? { abandoned } : {}) } });

    expect(failure('aborted')).toBe('stopped');
    expect(failure('aborted', true)).toBe('abandoned');
    expect(failure('timeout', true)).toBe('completed');
  });

  test('a record shows what was started and not settled', () => {
    const state = {
      ...initialState(DEFAULT_LIMITS),
      ...roundOf(call('running'), { ...call('done'), id: '2.2' }),
    };

    expect(leftOpen(state)).toEqual(['send_money (2.1)']);
  });
});
