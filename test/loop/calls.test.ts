import { describe, expect, test } from 'vitest';
import type { CallVerdict, EffectRefusal, EffectStatus } from '../../src/contracts/index.ts';
import { checked, onRecord, proven, settled, started } from '../../src/loop/calls.ts';
import { effectMoves } from '../../src/loop/open-turn.ts';
import { initialState, type CallState } from '../../src/loop/index.ts';
import { DEFAULT_LIMITS } from '../../src/contracts/index.ts';
import { observed } from './contract.ts';

const effect = { operation: 'xop', resource: 'order:1', occurrence: '' };
const proposed: CallState = { id: '1.1', tool: 'cancel_order', arguments: {}, step: 'proposed' };
const running: CallState = {
  ...proposed,
  step: 'running',
  effect: { ...effect, status: 'attempted', answered: false, reads: [] },
};
const earlier = (status: EffectStatus, more: object = {}): EffectRefusal => ({
  refusal: 'duplicate',
  earlier: { operation: 'xop', status, ...more },
});
const planned: CallState = {
  ...proposed,
  effect: { ...effect, status: 'planned', answered: false, reads: [] },
};

describe('a checked call', () => {
  test('keeps what its verdict says of request, origins and policy, and nothing else', () => {
    const write: CallVerdict = { kind: 'admitted_write', callId: '1.1', effect };
    const asks: CallVerdict = {
      ...{ kind: 'needs_approval', callId: '1.1', effect },
      ...{ approvalId: 'a1', reason: 'r', seen: 1 },
    };

    expect(checked(proposed, write, 1)).not.toHaveProperty('request');
    expect(checked(proposed, write, 1)).not.toHaveProperty('origins');
    expect(
      checked(proposed, { ...write, request: 'q', origins: { a: 'customer' } }, 1),
    ).toMatchObject({ step: 'admitted', request: 'q', origins: { a: 'customer' } });
    // Checked again, it does not lose what an earlier check found.
    expect(checked({ ...proposed, request: 'q', origins: {} }, write, 1)).toMatchObject({
      request: 'q',
      origins: {},
    });
    expect(checked(proposed, asks, 1).approval).toEqual({ id: 'a1', reason: 'r', seen: 1 });
    expect(checked(proposed, { ...asks, policy: 'v1' }, 1).approval).toMatchObject({
      policy: 'v1',
    });
  });

  test('a call that starts remembers its validity where there is one', () => {
    expect(started(planned, 9).effect).toMatchObject({ status: 'attempted', validUntil: 9 });
    expect(started(planned, undefined).effect).not.toHaveProperty('validUntil');
  });
});

describe('[P4] a write that is on record already', () => {
  test('verified, it is done: its earlier outcome is the answer', () => {
    const call = onRecord(planned, earlier('verified', { outcome: { id: 7 }, validUntil: 5 }), 3);

    expect(call).toMatchObject({
      step: 'done',
      effect: { status: 'verified', answered: true, validUntil: 5 },
      result: {
        ...{ kind: 'ok', earlier: true },
        observation: { callId: '1.1', provenance: 'ledger:cancel_order', at: 3, data: { id: 7 } },
      },
    });
    expect(onRecord(planned, earlier('verified'), 3).result).toMatchObject({
      observation: { data: null, size: 0 },
    });
  });

  test.each<[EffectStatus, EffectStatus, boolean]>([
    ['applied', 'applied', true],
    ['attempted', 'unknown', false],
    ['unknown', 'unknown', false],
  ])('%s, it is verified next as %s, answered: %s', (status, as, answered) => {
    const call = onRecord(planned, earlier(status), 3);

    expect(call).toMatchObject({ step: 'verifying', effect: { status: as, answered } });
    expect(call.effect).not.toHaveProperty('validUntil');
  });

  test.each<EffectRefusal['refusal']>(['conflict', 'possible_repeat', 'unknown_predecessor'])(
    '%s, it is refused, with the row that stands in its way',
    (refusal) => {
      const row = { operation: 'xold', status: 'verified' } as const;

      expect(onRecord(planned, { refusal, earlier: row }, 3)).toMatchObject({
        step: 'done',
        result: {
          ...{ kind: 'rejected', check: 'idempotency', code: refusal },
          message: expect.stringMatching(/ \(xold, verified\)\.$/),
        },
      });
      expect(onRecord(planned, { refusal }, 3).result).toMatchObject({
        message: expect.stringMatching(/[^)]\.$/),
      });
    },
  );

  test('a duplicate without its row, or of a call without an effect, is refused too', () => {
    expect(onRecord(planned, { refusal: 'duplicate' }, 3).result?.kind).toBe('rejected');
    expect(onRecord(proposed, earlier('verified'), 3).result?.kind).toBe('rejected');
  });
});

describe('[P5] what a re-read proves', () => {
  const at = (verdict: 'landed' | 'pending', when = 5) =>
    ({ verdict, at: when, latencyMs: 1, observation: observed({ n: when }) }) as const;

  test('is kept, one after the other', () => {
    const first = proven(running, at('pending', 1), false);
    const second = proven(first.call, at('landed', 2), false);

    expect(second.call.effect?.reads.map(({ at: when }) => when)).toEqual([1, 2]);
  });

  test('what was found stands in for an answer that was lost, and not for one that came', () => {
    const lost = proven(running, at('landed'), false).call;
    expect(lost.result).toMatchObject({ kind: 'ok', observation: { data: { n: 5 } } });

    const said = { kind: 'ok', observation: observed({ said: 1 }) } as const;
    const answered = proven(settled(running, said), at('landed'), false).call;
    expect(answered.result).toMatchObject({ observation: { data: { said: 1 } } });
  });

  test('a call without an effect, or found without a trace of it, is a defect', () => {
    expect(() => proven(proposed, at('landed'), false)).toThrow('has no effect');
    const blind = { verdict: 'landed', at: 1, latencyMs: 1 } as const;
    expect(() => proven(running, blind, false)).toThrow('without an observation');
  });

  test('an answer makes a later look that finds nothing conclusive, a refusal too', () => {
    const said = { kind: 'ok', observation: observed({}) } as const;

    expect(settled(running, said).effect).toMatchObject({ status: 'applied', answered: true });
    expect(settled(running, { kind: 'refused', code: 'x', message: '' }).effect).toMatchObject({
      status: 'rejected',
      answered: true,
    });
    expect(settled(running, { kind: 'unknown', code: 'x', message: '' }).effect).toMatchObject({
      status: 'unknown',
      answered: false,
    });
  });
});

describe('the ledger follows the state', () => {
  const turn = (...calls: CallState[]) => ({
    ...initialState(DEFAULT_LIMITS),
    rounds: [{ proposal: null, calls }],
  });
  const applied = settled(running, { kind: 'ok', observation: observed({ ok: 1 }) });

  test('where an effect changed, with its outcome where there is one', () => {
    expect(effectMoves(turn(running), turn(applied))).toEqual([
      { operation: 'xop', status: 'applied', outcome: { ok: 1 } },
    ]);
    const lost = settled(running, { kind: 'unknown', code: 'x', message: '' });
    expect(effectMoves(turn(running), turn(lost))).toEqual([
      { operation: 'xop', status: 'unknown' },
    ]);
  });

  test('nowhere else: not where nothing changed, not for reads, plans and reservations', () => {
    expect(effectMoves(turn(applied), turn(applied))).toEqual([]);
    expect(effectMoves(turn(), turn(proposed, planned, running))).toEqual([]);
  });
});
