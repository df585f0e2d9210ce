import { describe, expect, test } from 'vitest';
import type { ModelFailureKind } from '../../src/contracts/index.ts';
import { decide } from '../../src/loop/index.ts';
import { answered, limitOf } from '../../src/loop/asking.ts';
import {
  after,
  at,
  failed,
  requested,
  responded,
  resumed,
  parked,
  started,
} from '../support/turn-events.ts';

const asked = [started(), requested(100, 10)];

describe('[S4-56] what a failed model call costs', () => {
  test.each<[ModelFailureKind, number]>([
    ['context_overflow', 0],
    ['rate_limited', 0],
    ['account_limited', 0],
    ['concurrency_limited', 0],
    ['quota_exhausted', 0],
    ['authentication_failed', 0],
    ['request_rejected', 0],
    ['server_error', 0],
    ['overloaded', 0],
    ['unavailable', 0],
    ['timeout', 100],
    ['silence', 100],
    ['network_failure', 100],
    ['aborted', 100],
    ['refusal', 100],
    ['max_tokens', 100],
    ['overflow_mid_generation', 100],
    ['invalid_proposal', 100],
  ])('%s without a word about its use is paid with %i of 100 reserved tokens', (kind, tokens) => {
    const { spent, reserved } = after(...asked, failed(kind));

    expect(spent).toMatchObject({ tokens, costMicros: tokens / 10 });
    expect(reserved).toEqual({ tokens: 0, costMicros: 0 });
  });

  test('with a word about it, it is paid by that', () => {
    const usage = { inputTokens: 3, outputTokens: 4, costMicros: 5 };
    const failure = { kind: 'server_error' } as const;
    const event = { type: 'model_failed', at, failure, usage, latencyMs: 1 } as const;

    expect(after(...asked, event).spent).toMatchObject({ tokens: 7, costMicros: 5 });
  });
});

describe('when a turn comes back after a failed model call', () => {
  test('the wait doubles from one second to one minute', () => {
    let state = after(started({ modelFailures: 100, parks: 100 }));
    const waits: number[] = [];
    for (let number = 1; number <= 8; number += 1) {
      for (const event of [requested(), failed('overloaded')]) ({ state } = decide(state, event));
      waits.push((state.backOffUntil ?? 0) - at);
      for (const event of [parked('back_off', number), resumed]) ({ state } = decide(state, event));
    }

    expect(waits).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]);
  });

  test('a later time the provider names counts, an earlier one does not', () => {
    const until = (retryAt: number) =>
      after(...asked, failed('overloaded', { retryAt })).backOffUntil;

    expect(until(at + 5_000)).toBe(at + 5_000);
    expect(until(at + 10)).toBe(at + 1_000);
  });

  test('a turn that was not even asked waits until then and has failed nothing', () => {
    const state = after(...asked, failed('account_limited', { retryAt: at + 7 }));

    expect(state).toMatchObject({ modelFailures: 0, backOffUntil: at + 7, phase: 'backing_off' });
    expect(after(...asked, failed('account_limited')).backOffUntil).toBe(at);
    expect(after(...asked, failed('overloaded')).modelFailures).toBe(1);
  });
});

describe('what a model that answered no proposal is told', () => {
  test('why it could not be read, after everything that was said before', () => {
    const before = [...asked, failed('invalid_proposal', { detail: 'two calls have the same id' })];
    const state = after(...before, requested(), failed('invalid_proposal'));

    expect(state.rounds).toEqual([
      {
        ...{ proposal: null, calls: [] },
        objection: 'Your answer could not be read: two calls have the same id.',
      },
      {
        ...{ proposal: null, calls: [] },
        objection: 'Your answer could not be read: it fits no proposal.',
      },
    ]);
  });

  test('an answer becomes an event with its use, its model and its time', () => {
    const usage = { inputTokens: 1, outputTokens: 2, costMicros: 3 };
    const proposal = { kind: 'escalate', rationale: 'r' } as const;

    expect(answered({ ok: true, proposal, usage, model: 'm' }, 5, 6)).toEqual({
      ...{ type: 'model_responded', at: 5, latencyMs: 6, proposal, usage, model: 'm' },
    });
    expect(answered({ ok: false, failure: { kind: 'timeout' }, usage }, 5, 6)).toEqual({
      ...{ type: 'model_failed', at: 5, latencyMs: 6, failure: { kind: 'timeout' }, usage },
    });
    expect(answered({ ok: false, failure: { kind: 'timeout' } }, 5, 6)).not.toHaveProperty('usage');
    expect(
      answered({ ok: true, proposal: { kind: 'odd' } as never, usage, model: 'm' }, 5, 6),
    ).toMatchObject({ type: 'model_failed', failure: { kind: 'invalid_proposal' }, usage });
  });

  test.each<[ModelFailureKind, number | undefined]>([
    ['rate_limited', 9],
    ['concurrency_limited', 9],
    ['quota_exhausted', 9],
    ['overloaded', undefined],
    ['server_error', undefined],
    ['account_limited', undefined],
  ])('%s: every worker is told until when the account is limited: %s', (kind, until) => {
    expect(limitOf({ ok: false, failure: { kind, retryAt: 9 } })).toBe(until);
  });

  test('a good answer limits no account', () => {
    const usage = { inputTokens: 1, outputTokens: 2, costMicros: 3 };
    const proposal = { kind: 'escalate', rationale: 'r' } as const;

    expect(limitOf({ ok: true, proposal, usage, model: 'm' })).toBeUndefined();
  });
});

test('a blank finish is an empty reply, also when nothing was to be said after all', () => {
  const finish = (reply: string, as: 'replied' | 'no_reply_needed') =>
    after(...asked, responded({ kind: 'finish_candidate', reply, as }));

  expect(finish(' ', 'replied').ending).toMatchObject({ reason: 'empty_reply' });
  expect(finish('', 'no_reply_needed').phase).toBe('validating_actions');
  expect(after(...asked, responded({ kind: 'ask_customer', text: '' })).ending).toMatchObject({
    reason: 'empty_reply',
  });
  expect(after(...asked, responded({ kind: 'refuse', reply: ' ' })).ending).toMatchObject({
    reason: 'empty_reply',
  });
});
