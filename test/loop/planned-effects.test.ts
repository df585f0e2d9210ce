import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { Facts, ToolContract, TurnEvent } from '../../src/contracts/index.ts';
import { DEFAULT_LIMITS } from '../../src/contracts/index.ts';
import {
  actionHash,
  canonicalJson,
  checkCall,
  decide,
  initialState,
  operationKey,
  type AgentRules,
  type CallState,
  type RiskyAction,
} from '../../src/loop/index.ts';
import type { CheckContext } from '../../src/loop/check.ts';
import { ToolExecutor, ToolRegistry } from '../../src/tools/index.ts';
import {
  after,
  at,
  begun,
  calls,
  checked,
  decided,
  parked,
  read,
  rejected,
  requested,
  resumed,
  rereading,
  settled,
  started,
  asks,
  write,
} from '../support/turn-events.ts';
import { contract, message } from './contract.ts';

const place = { inRound: 0, inBatch: 0 };

/** Checks one call of a tool of its own. */
function check(
  tool: Partial<ToolContract>,
  args: unknown = {},
  more: Partial<CheckContext> & { step?: CallState['step']; place?: typeof place } = {},
) {
  const { step = 'proposed', place: where = place, ...context } = more;
  const send = contract(tool);
  const risk = { limits: { EUR: 100 }, customerDay: {}, version: 'v' };
  return checkCall({ id: '1.1', tool: send.name, arguments: args, step }, where, {
    state: { ...initialState(DEFAULT_LIMITS), intent: 'i1' },
    facts: {},
    principal: { id: 'ana@example.com', assurance: 'verified' },
    tools: new ToolExecutor(new ToolRegistry([contract({ name: 'first' }), send]), {
      now: () => 1,
    }),
    rules: { risk } as unknown as AgentRules,
    claimed: { messages: [message('damaged')], history: [] },
    ...context,
  });
}

describe('the effect a write is planned to have', () => {
  const occurring = (occurrence: NonNullable<ToolContract['idempotency']>['occurrence']) => ({
    idempotency: { scope: 'intent' as const, occurrence, enforcesValidity: true },
  });
  const key = (occurrence: string, resource = 'account:1') =>
    operationKey({ scope: 'intent', intent: 'i1', tool: 'send_money', resource, occurrence });

  test('names its object, its occurrence and the operation they make', () => {
    expect(check({})).toMatchObject({
      effect: { operation: key(''), resource: 'account:1', occurrence: '' },
    });
    expect(check(occurring(() => 'L1'))).toMatchObject({
      effect: { operation: key('L1'), occurrence: 'L1' },
    });
    expect(check(occurring(() => undefined))).toMatchObject({ effect: { occurrence: '' } });
    expect(check({ resource: () => [] })).toMatchObject({
      effect: { operation: key('', ''), resource: '' },
    });
  });

  test('one that follows another names it, any other names none', () => {
    const following = check(occurring(() => ({ after: 'xop0' })));

    expect(following).toMatchObject({
      effect: { operation: key('after:xop0'), occurrence: 'after:xop0', after: 'xop0' },
    });
    const plain = check({});
    expect(plain.kind === 'passed' && plain.effect).not.toHaveProperty('after');
  });

  test('a read has none, nor a stake or origins', () => {
    expect(Object.keys(check({ effect: 'read' })).toSorted()).toEqual(['contract', 'kind']);
  });

  test('what is at stake is handed on where it is an amount; the reason of a person only where one is needed', () => {
    const stake = { amount: 101, currency: 'EUR', summary: 'pay 101' };

    expect(check({ approval: () => stake })).toMatchObject({
      stake,
      person: 'pay 101 is above the limit of 1.00 EUR',
    });
    expect(check({ approval: () => 'always' })).not.toHaveProperty('stake');
    expect(check({ approval: () => 'never' })).not.toHaveProperty('person');
  });

  test("the company's rule sees the whole action", () => {
    const seen: RiskyAction[] = [];
    const rule = (action: RiskyAction) => {
      seen.push(action);
      return undefined;
    };
    const facts: Facts = { 'order:1': { data: {}, at: 1, from: 'x' } };
    const rules = { risk: { limits: {}, customerDay: {}, version: 'v', rule } };
    check({ provenance: { it: 'model' } }, { it: 1 }, { facts, rules: rules as never });

    expect(seen).toEqual([
      {
        ...{ tool: 'send_money', arguments: { it: 1 }, stake: 'never', reversible: false, facts },
        origins: [{ argument: 'it', from: 'model' }],
      },
    ]);
  });

  test('choices are looked up in the schema of this tool, not of another', () => {
    const input = z.object({ why: z.enum(['late', 'broken']) });

    expect(check({ input, provenance: { why: 'customer' } }, { why: 'late' })).toMatchObject({
      origins: { why: 'customer' },
    });
  });
});

describe('[S2-23] who may ask', () => {
  const claimed = { principal: { id: 'a', assurance: 'claimed' } as const };
  const nobody = { principal: { id: 'a', assurance: 'none' } as const };

  test('by default anybody for a read, a verified requester for a write', () => {
    expect(check({ effect: 'read' }, {}, nobody).kind).toBe('passed');
    expect(check({}, {}, claimed)).toMatchObject({ code: 'requester_not_verified' });
  });

  test('as the contract says', () => {
    expect(check({ assurance: 'claimed' }, {}, claimed).kind).toBe('passed');
    expect(check({ assurance: 'claimed' }, {}, nobody)).toMatchObject({
      code: 'requester_not_verified',
    });
    expect(check({ effect: 'read', assurance: 'verified' }, {}, claimed).kind).toBe('rejected');
  });
});

describe('[S2-24] how many calls a turn has left', () => {
  const state = (toolCalls: number) => ({
    state: {
      ...initialState({ ...DEFAULT_LIMITS, toolCalls: 3 }),
      spent: { toolCalls, tokens: 0, costMicros: 0, parks: 0 },
    },
  });
  const verdict = (spent: number, inBatch: number, step: CallState['step'] = 'proposed') => {
    const result = check({}, {}, { ...state(spent), step, place: { inRound: 0, inBatch } });
    return result.kind === 'rejected' ? result.code : result.kind;
  };

  test('those of its batch count as well', () => {
    expect([verdict(2, 0), verdict(3, 0)]).toEqual(['passed', 'max_tool_calls']);
    expect([verdict(1, 1), verdict(1, 2)]).toEqual(['passed', 'max_tool_calls']);
  });

  test('an approved one has been counted before', () => {
    expect(verdict(3, 0, 'approved')).toBe('passed');
    const late = { step: 'approved' as const, place: { inRound: 9, inBatch: 0 } };
    expect(check({}, {}, late).kind).toBe('passed');
  });
});

describe('[S2-21] what cannot be read at all', () => {
  test.each([null, 'text', 5, ['a']])('%j are no arguments of a tool nobody offers', (args) => {
    const state = { ...initialState(DEFAULT_LIMITS), intent: 'i1' };
    const tools = new ToolExecutor(new ToolRegistry([contract()]), { now: () => 1 });
    const result = checkCall(
      { id: '1.1', tool: 'gone', arguments: args, step: 'proposed' },
      place,
      {
        ...{ state, tools, facts: {}, rules: {} as AgentRules },
        principal: { id: 'a', assurance: 'verified' },
        claimed: { messages: [], history: [] },
      },
    );

    expect(result).toMatchObject({ check: 'schema', code: 'invalid_arguments' });
  });

  test('what is cosmetic is left out of the request; a contract without it needs none', () => {
    const remark = { cosmetic: ['remark'] };

    expect(check(remark, { id: 1, remark: 'x' })).toMatchObject({
      request: actionHash('send_money', { id: 1 }),
    });
    expect(check({}, { id: 1 })).not.toHaveProperty('request');
    expect(check({ ...remark, input: z.string() }, 'x')).not.toHaveProperty('request');
    // Also what is rejected later is remembered by its request.
    const range = () => ({ code: 'no', message: 'no' });
    expect(check({ ...remark, range }, { id: 1, remark: 'x' })).toHaveProperty('request');
  });
});

test('canonical JSON of nothing is null', () => {
  expect(canonicalJson(undefined)).toBe('null');
});

describe('small steps of the state', () => {
  const asked: TurnEvent[] = [started(), requested()];
  const usage = { inputTokens: 3, outputTokens: 4, costMicros: 5 };

  test('[S4-56] what a judge costs is taken from the accounts of the turn', () => {
    const judged: TurnEvent = {
      ...{ type: 'verification_read', at, callId: '1.1', final: false },
      read: { verdict: 'pending', at, latencyMs: 1, judge: { model: 'm', usage } },
    };
    const before = after(...asked, calls('w'), checked(write()), begun(), settled('ok'), rereading);

    const { spent } = decide(before, judged).state;

    expect(spent.tokens - before.spent.tokens).toBe(7);
    expect(spent.costMicros - before.spent.costMicros).toBe(5);
  });

  test('[S1-15] a call over the limit of its round tells nothing about progress and is not counted', () => {
    const over = { ...rejected(), check: 'budget', code: 'max_calls_per_round' } as const;
    const state = after(...asked, calls('a', 'b'), checked(read(), { ...over, callId: '1.2' }));

    expect(state.failures).toEqual({});
    expect(state.spent.toolCalls).toBe(1);
    const refused = after(...asked, calls('a'), checked(rejected()));
    expect(Object.values(refused.failures)).toEqual([1]);
    expect(refused.spent.toolCalls).toBe(1);
  });

  test('a worker that takes over runs an open read again and leaves the others as they are', () => {
    const state = after(
      ...[...asked, calls('a', 'b', 'c'), checked(read('1.1'), read('1.2'), rejected('1.3'))],
      ...[begun('1.1'), begun('1.2'), settled('ok', '1.1'), resumed],
    );

    expect(state.rounds[0]?.calls.map(({ step }) => step)).toEqual(['done', 'admitted', 'done']);
  });

  test('only the time that was spent waiting for a person is none of the turn', () => {
    const waiting = after(...asked, calls('w'), checked(asks()), parked('approval'));
    const woken = decide(waiting, resumed).state;
    expect(woken.personWaitMs).toBe(10);
    // Woken twice, the time counts once.
    expect(decide(woken, { ...resumed, at: at + 99 } as TurnEvent).state.personWaitMs).toBe(10);

    const again = decide(woken, decided('approved')).state;
    expect(again).toMatchObject({ phase: 'validating_actions', personWaitMs: 10 });
  });

  test('a decision about a call nobody waits with is a defect', () => {
    const waiting = after(...asked, calls('w'), checked(asks()), parked('approval'), resumed);

    expect(() => decide(waiting, decided('approved', 'other'))).toThrow('belongs to no call');
  });
});
