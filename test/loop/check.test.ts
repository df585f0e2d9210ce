import { describe, expect, test } from 'vitest';
import type { Assurance, CallVerdict, Facts } from '../../src/contracts/index.ts';
import { defineAgent } from '../../src/config/index.ts';
import { scriptedSequence } from '../../src/models/index.ts';
import { MemoryTarget } from '../support/rig.ts';
import { DEFAULT_LIMITS } from '../../src/contracts/index.ts';
import { checkCall, initialState, type CallState } from '../../src/loop/index.ts';
import type { CheckContext } from '../../src/loop/check.ts';
import { ToolExecutor, ToolRegistry } from '../../src/tools/index.ts';
import { Shop, shopTools } from '../support/shop.ts';
import { message } from './contract.ts';

const order = { id: '1', owner: 'ana@example.com', status: 'cancelled', total: 5_000, version: 3 };
const facts: Facts = { 'order:1': { data: order, at: 1, from: 'get_order' } };
const tools = new ToolExecutor(new ToolRegistry(shopTools(new Shop())), { now: () => 1 });

const { rules } = defineAgent({
  name: 'a',
  instructions: '',
  tools: [],
  model: scriptedSequence([]),
  target: new MemoryTarget(),
  approvalLimits: { EUR: 3_000 },
});

function context(overrides: Partial<CheckContext> = {}): CheckContext {
  return {
    state: { ...initialState(DEFAULT_LIMITS), intent: 'i1' },
    facts,
    principal: { id: 'ana@example.com', assurance: 'verified' },
    tools,
    rules,
    claimed: { messages: [message('Please refund order 1 (and 2, and 9).')], history: [] },
    ...overrides,
  };
}

function call(tool: string, args: unknown): CallState {
  return { id: '1.1', tool, arguments: args, step: 'proposed' };
}

function outcome(one: CallState, overrides: Partial<CheckContext> = {}, inRound = 0): string {
  const checked = checkCall(one, { inRound, inBatch: 0 }, context(overrides));
  return checked.kind === 'rejected' ? `${checked.check}: ${checked.code}` : checked.kind;
}

const refund = call('issue_refund', { orderId: '1', amount: 1_000 });
const atLimit = {
  ...initialState(DEFAULT_LIMITS),
  spent: { toolCalls: 15, tokens: 0, costMicros: 0, parks: 0 },
};

describe('[P7] [S2-27] the six checks, each with its own stable rejection', () => {
  test('[S2-21] [S0-17] 1: arguments that do not fit the schema are named', () => {
    const checked = checkCall(
      call('issue_refund', { orderId: 'x', amount: '5' }),
      place,
      context(),
    );

    expect(checked).toMatchObject({ check: 'schema', code: 'invalid_arguments' });
    expect((checked as Extract<CallVerdict, { kind: 'rejected' }>).message).toMatch(
      /orderId.*amount/,
    );
  });

  test('[S1-13] [S2-22] 2: a tool that is not offered is refused and the offered ones are named', () => {
    expect(outcome(call('drop_tables', {}))).toBe('allowlist: unknown_tool');
  });

  test('[S2-22] 2: a value out of range is refused', () => {
    expect(outcome(call('issue_refund', { orderId: '1', amount: 5_001 }))).toBe(
      'allowlist: amount_out_of_range',
    );
    expect(outcome(call('issue_refund', { orderId: '1', amount: 5_000 }))).toBe('passed');
  });

  test.each<[Assurance, string]>([
    ['none', 'authorization: requester_not_verified'],
    ['claimed', 'authorization: requester_not_verified'],
    ['verified', 'passed'],
  ])('[S2-23] 3: a write for a requester of assurance %s: %s', (assurance, expected) => {
    expect(outcome(refund, { principal: { id: 'ana@example.com', assurance } })).toBe(expected);
  });

  test('[S2-23] 3: an order of somebody else is refused', () => {
    const principal = { id: 'eve@example.com', assurance: 'verified' } as const;

    expect(outcome(refund, { principal })).toBe('authorization: not_yours');
  });

  test('3: what was only said is no fact: an order that was not read is refused', () => {
    expect(outcome(refund, { facts: {} })).toBe('authorization: order_not_read');
  });

  test('[S1-15] [S2-24] 4: the fourth call of a round is rejected, the third is not', () => {
    expect(outcome(refund, {}, 2)).toBe('passed');
    expect(outcome(refund, {}, 3)).toBe('budget: max_calls_per_round');
  });

  test('[S2-24] 4: the sixteenth call of a turn is rejected', () => {
    expect(outcome(refund, { state: atLimit })).toBe('budget: max_tool_calls');
  });

  test('[S2-26] 6: at the limit nobody is asked, above it somebody is', () => {
    const asked = (amount: number): unknown => {
      const checked = checkCall(call('issue_refund', { orderId: '1', amount }), place, context());
      return checked.kind === 'passed' ? checked.person !== undefined : checked;
    };

    expect(asked(3_000)).toBe(false);
    expect(asked(3_001)).toBe(true);
  });

  test('6: an unlisted currency always asks', () => {
    const { rules: own } = context();
    const rules = { ...own, risk: { ...own.risk, limits: {} } };
    const checked = checkCall(refund, place, context({ rules }));

    expect(checked).toMatchObject({ person: 'no limit is configured for EUR' });
  });

  test('the earlier check wins when several would say no', () => {
    const nobody = { id: 'eve@example.com', assurance: 'none' } as const;
    const far = { principal: nobody, facts: {}, state: atLimit };

    expect(outcome(call('issue_refund', { orderId: 1 }), far, 9)).toBe('schema: invalid_arguments');
    expect(outcome(call('issue_refund', { orderId: '1', amount: -1 }), far, 9)).toBe(
      'allowlist: amount_out_of_range',
    );
    expect(outcome(refund, far, 9)).toBe('authorization: requester_not_verified');
    expect(outcome(refund, { state: atLimit }, 9)).toBe('budget: max_calls_per_round');
  });
});

describe('[P4] the identity of an effect', () => {
  const key = (args: object, intent = 'i1'): string => {
    const state = { ...initialState(DEFAULT_LIMITS), intent };
    const checked = checkCall(call('issue_refund', args), place, context({ state }));
    if (checked.kind !== 'passed' || checked.effect === undefined) throw new Error('not passed');
    return checked.effect.operation;
  };
  const base = { orderId: '1', amount: 1_000 };

  test('[S0-24] [S0-26] rephrasing the arguments keeps it; another line, purpose or predecessor does not', () => {
    expect(key({ ...base, note: 'as agreed' })).toBe(key(base));
    expect(key({ amount: 1_000, orderId: '1' })).toBe(key(base));
    expect(key({ ...base, line: 'L2' })).not.toBe(key(base));
    expect(key(base, 'i2')).not.toBe(key(base));
    expect(key({ ...base, after: 'x1' })).not.toBe(key(base));
  });

  test('[S0-27] the same amount of two lines is two operations', () => {
    expect(key({ ...base, line: 'L1' })).not.toBe(key({ ...base, line: 'L2' }));
  });

  test('with scope resource it is one whoever asks', () => {
    const cancel = (intent: string): unknown => {
      const state = { ...initialState(DEFAULT_LIMITS), intent };
      const checked = checkCall(call('cancel_order', { orderId: '1' }), place, context({ state }));
      return checked.kind === 'passed' ? checked.effect?.operation : checked;
    };

    expect(cancel('i1')).toBe(cancel('i2'));
  });
});

const place = { inRound: 0, inBatch: 0 };
