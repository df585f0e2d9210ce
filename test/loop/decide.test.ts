import { describe, expect, test } from 'vitest';
import {
  MODEL_FAILURES,
  type Ending,
  type Limits,
  type ModelFailureKind,
  type TurnEvent,
} from '../../src/contracts/index.ts';
import { currentCalls, decide, type TurnState } from '../../src/loop/index.ts';
import {
  over,
  after,
  asks,
  at,
  begun,
  calls,
  checked,
  decided,
  failed,
  finish,
  judged,
  parked,
  read,
  rejected,
  requested,
  reread,
  responded,
  resumed,
  settled,
  started,
  stop,
  write,
} from '../support/turn-events.ts';

const asked = [started(), requested()];
const written = [...asked, calls('put'), checked(write()), begun('1.1', at + 5_000)];
const acknowledged = [...written, settled('ok')];
const unanswered = [...written, settled('unknown')];

function commandsAfter(...events: TurnEvent[]): string[] {
  const last = events.at(-1);
  if (last === undefined) return [];
  return decide(after(...events.slice(0, -1)), last).commands.map((command) => command.do);
}

function effectStatus(state: TurnState): string | undefined {
  return state.rounds.at(-1)?.calls[0]?.effect?.status;
}

describe('what the model proposes', () => {
  test('[S2-02] [S2-14] [S4-49] a finish candidate ends nothing: it is judged first', () => {
    expect(after(...asked, responded(finish)).phase).toBe('validating_actions');
    expect(commandsAfter(...asked, responded(finish))).toEqual(['judge']);
  });

  test.each([
    [responded({ kind: 'ask_customer', text: 'Which order?' }), 'completed', 'asked_customer'],
    [responded({ kind: 'refuse', reply: 'We cannot do that.' }), 'completed', 'declined'],
    [responded({ kind: 'escalate', rationale: 'angry' }), 'escalated', 'model_escalated'],
  ])('[S2-19] proposal %# ends the turn with its own reason', (event, outcome, reason) => {
    expect(after(...asked, event).ending).toEqual({ outcome, reason });
  });

  test.each([
    responded({ kind: 'finish_candidate', reply: ' \n' }),
    responded({ kind: 'ask_customer', text: '' }),
    responded({ kind: 'refuse', reply: '' }),
  ])('[S3-12] a reply without text is failed/empty_reply, never a success (%#)', (event) => {
    expect(after(...asked, event).ending).toEqual({ outcome: 'failed', reason: 'empty_reply' });
  });

  test('[P9] a finish that was judged good completes the turn under the name it asked for', () => {
    const menu = responded({ kind: 'finish_candidate', reply: 'I can still …', as: 'no_answer' });

    expect(after(...asked, menu, judged()).ending).toEqual({
      outcome: 'completed',
      reason: 'no_answer',
    });
  });

  test('a finish that is refused three times escalates instead of going out', () => {
    const refused = [requested(), responded(finish), judged('no evidence')];

    const state = after(started(), ...refused, ...refused, ...refused);

    expect(state.ending).toEqual({ outcome: 'escalated', reason: 'finish_rejected' });
  });
});

const FAILURE_ENDS: Record<ModelFailureKind, Ending | 'asks_again' | 'backs_off'> = {
  refusal: { outcome: 'failed', reason: 'model_refusal' },
  max_tokens: { outcome: 'failed', reason: 'max_tokens' },
  context_overflow: { outcome: 'conversation_full', reason: 'context_overflow' },
  unknown_stop_reason: { outcome: 'failed', reason: 'unknown_stop_reason' },
  empty_reply: { outcome: 'failed', reason: 'empty_reply' },
  invalid_proposal: 'asks_again',
  timeout: 'backs_off',
  silence: 'backs_off',
  rate_limited: 'backs_off',
  unavailable: 'backs_off',
  content_filter: { outcome: 'failed', reason: 'model_refusal' },
  overflow_mid_generation: { outcome: 'conversation_full', reason: 'context_overflow' },
  concurrency_limited: 'backs_off',
  quota_exhausted: 'backs_off',
  authentication_failed: { outcome: 'failed', reason: 'model_unavailable' },
  request_rejected: { outcome: 'failed', reason: 'model_unavailable' },
  overloaded: 'backs_off',
  server_error: 'backs_off',
  network_failure: 'backs_off',
  aborted: 'backs_off',
  account_limited: 'backs_off',
};

describe('when a model call fails', () => {
  test.each(MODEL_FAILURES)('[S3-09] %s has one named consequence', (kind) => {
    const { phase, ending } = after(...asked, failed(kind));
    const course = FAILURE_ENDS[kind];

    if (course === 'asks_again') expect(phase).toBe('requesting_model');
    else if (course === 'backs_off') expect(phase).toBe('backing_off');
    else expect(ending).toEqual(course);
  });

  test('[S2-20] an answer that cannot be read runs nothing, goes back twice, then fails by its own name', () => {
    const garbled = [requested(), failed('invalid_proposal')];

    expect(after(started(), ...garbled, ...garbled).phase).toBe('requesting_model');
    expect(after(started(), ...garbled, ...garbled, ...garbled).ending).toEqual({
      outcome: 'failed',
      reason: 'invalid_proposal',
    });
  });

  test('a model that stays away is given up after the fifth call in a row', () => {
    const away = [requested(), failed('unavailable'), parked('back_off'), resumed];
    const four = [started(), ...away, ...away, ...away, ...away];

    expect(after(...four).phase).toBe('requesting_model');
    expect(after(...four, requested(), failed('unavailable')).ending?.reason).toBe(
      'model_unavailable',
    );
    expect(after(...four, requested(), failed('silence')).ending).toEqual({
      outcome: 'timed_out',
      reason: 'silence',
    });
  });

  test('the turn comes back when the provider asked for it, and not before', () => {
    const { backOffUntil } = after(...asked, failed('rate_limited', { retryAt: at + 90_000 }));

    expect(backOffUntil).toBe(at + 90_000);
  });
});

describe('the accounts of a turn', () => {
  const round = [requested(), calls('get'), checked(read()), begun(), settled('ok')];
  function roundOf(number: number): TurnEvent[] {
    const id = `${number}.1`;
    return [requested(), calls('get'), checked(read(id)), begun(id), settled('ok', id)];
  }

  test('[S1-12] [S3-30] [P8] tools asked for in the last round are not run', () => {
    const state = after(started({ rounds: 2 }), ...roundOf(1), requested(), calls('get'));

    expect(state.ending).toEqual({ outcome: 'budget_exhausted', reason: 'max_rounds' });
    expect(state.rounds.at(-1)?.calls[0]?.step).toBe('proposed');
  });

  test('[S4-52] the last round may still finish the turn', () => {
    const state = after(
      started({ rounds: 2 }),
      ...roundOf(1),
      requested(),
      responded(finish),
      judged(),
    );

    expect(state.ending?.reason).toBe('replied');
  });

  test('the call that would be one too many ends the turn', () => {
    const over = checked({ ...rejected(), check: 'budget', code: 'max_tool_calls' } as never);

    expect(after(...asked, calls('get'), over).ending).toEqual({
      outcome: 'budget_exhausted',
      reason: 'max_tool_calls',
    });
  });

  test('tokens and money are reserved before the call and settled by what was used', () => {
    const reserved = after(started(), requested(900, 90));
    const settledState = after(started(), requested(900, 90), responded(finish));

    expect(reserved.reserved).toEqual({ tokens: 900, costMicros: 90 });
    expect(settledState.spent).toMatchObject({ tokens: 60, costMicros: 5 });
  });

  test('a model call whose answer was lost is paid at its estimate', () => {
    const state = after(
      started(),
      requested(900, 90),
      resumed,
      requested(900, 90),
      responded(finish),
    );

    expect(state.spent).toMatchObject({ tokens: 960, costMicros: 95 });
  });

  test('[S2-45] [S2-30] the third identical failure stops the turn', () => {
    const fails = (number: number): TurnEvent[] => [
      requested(),
      calls('get'),
      checked(rejected(`${number}.1`)),
    ];

    expect(after(started(), ...fails(1), ...fails(2)).phase).toBe('requesting_model');
    expect(after(started(), ...fails(1), ...fails(2), ...fails(3)).ending).toEqual({
      outcome: 'escalated',
      reason: 'repeated_state',
    });
  });

  test('[S2-45] [S2-30] the third identical failure stops it also where others stand beside it', () => {
    const fails = (number: number, ...codes: string[]): TurnEvent[] => [
      requested(),
      calls(...codes.map(() => 'get')),
      checked(...codes.map((code, index) => rejected(`${number}.${index + 1}`, code))),
    ];
    const two = [...fails(1, 'same', 'one'), ...fails(2, 'same', 'two')];
    const limits: Partial<Limits> = { rounds: 9, consecutiveFailures: 9 };

    expect(after(started(limits), ...two).phase).toBe('requesting_model');
    expect(after(started(limits), ...two, ...fails(3, 'same')).ending?.reason).toBe(
      'repeated_state',
    );
    expect(after(started(limits), ...two, ...fails(3, 'third')).phase).toBe('requesting_model');
  });

  test('the fifth failure in a row stops the turn though each is another one', () => {
    const limits: Partial<Limits> = { rounds: 9 };
    const fails = (number: number): TurnEvent[] => [
      requested(),
      calls('get'),
      checked(rejected(`${number}.1`, `code-${number}`)),
    ];
    const four = [1, 2, 3, 4].flatMap(fails);

    expect(after(started(limits), ...four).phase).toBe('requesting_model');
    expect(after(started(limits), ...four, ...fails(5)).ending?.reason).toBe(
      'consecutive_failures',
    );
  });

  test('a success in between makes the failures before it count no more', () => {
    const fails = (number: number): TurnEvent[] => [
      requested(),
      calls('get'),
      checked(rejected(`${number}.1`)),
    ];

    const state = after(
      started({ rounds: 9 }),
      ...fails(1),
      ...fails(2),
      ...roundOf(3),
      ...fails(4),
    );

    expect(state.phase).toBe('requesting_model');
  });

  test('the park beyond the last one ends the turn', () => {
    const wait = (number: number): TurnEvent[] => [
      requested(),
      failed('rate_limited'),
      parked('back_off', number),
      resumed,
    ];
    const limits = { parks: 2, modelFailures: 9 };

    const state = after(started(limits), ...wait(1), ...wait(2), requested(), failed('timeout'));

    expect(state.ending).toEqual({ outcome: 'budget_exhausted', reason: 'max_parks' });
  });

  test('a park that is gone on with after a lost worker counts once', () => {
    const waiting = [requested(), calls('put'), checked(asks()), parked('approval'), resumed];

    expect(after(started(), ...waiting, parked('approval'), resumed).spent.parks).toBe(1);
  });

  test('waiting for a person does not use up the deadline', () => {
    const waiting = after(...asked, calls('put'), checked(asks()), parked('approval'), resumed);

    expect(waiting.personWaitMs).toBe(10);
  });

  test('a round of reads is asked for together', () => {
    expect(round).toHaveLength(5);
    const commands = commandsAfter(
      ...asked,
      calls('get', 'list'),
      checked(read('1.1'), read('1.2')),
    );
    expect(commands).toEqual(['call', 'call']);
  });
});

describe('[P6] nothing follows an effect until the world confirms it', () => {
  test('[S0-03] [S4-25] an acknowledged write is applied, not done: it is verified next', () => {
    expect(effectStatus(after(...acknowledged))).toBe('applied');
    expect(commandsAfter(...acknowledged)).toEqual(['verify']);
  });

  test('[S0-38] the second call of the round is looked at only when the first one is verified', () => {
    const first = [...asked, calls('put', 'put'), checked(write('1.1')), begun()];

    expect(commandsAfter(...first, settled('ok'))).toEqual(['verify']);
    expect(commandsAfter(...first, settled('ok'), reread('landed'))).toEqual(['check']);
  });

  test('[S0-48] a re-read that is still pending parks the turn; the call is not made again', () => {
    const state = after(...acknowledged, reread('pending'));

    expect(state.phase).toBe('awaiting_verification');
    expect(commandsAfter(...acknowledged, reread('pending'))).toEqual(['park']);
  });

  test('[S0-49] when the re-reads are used up the turn escalates with what was not verified', () => {
    expect(after(...acknowledged, reread('pending', { final: true })).ending).toEqual({
      outcome: 'escalated',
      reason: 'verification_failed',
    });
  });

  test('a success the world does not know of is no success', () => {
    const state = after(...acknowledged, reread('not_landed', { final: true }));

    expect(state.ending?.reason).toBe('verification_failed');
    expect(effectStatus(state)).toBe('not_landed');
  });

  test('an effect that is held back by the other side is for people', () => {
    expect(after(...acknowledged, reread('blocked')).ending?.reason).toBe('verification_failed');
  });

  test('what the tool said stays what the model is told; the re-read stands beside it', () => {
    const call = after(...acknowledged, reread('landed')).rounds[0]?.calls[0];

    expect(call?.result).toMatchObject({ observation: { data: { status: 'accepted' } } });
    expect(call?.effect?.reads).toMatchObject([{ verdict: 'landed' }]);
  });
});

describe('[P5] unknown is a state', () => {
  test('a write without an answer is unknown and is re-read, never sent again', () => {
    expect(effectStatus(after(...unanswered))).toBe('unknown');
    expect(commandsAfter(...unanswered)).toEqual(['verify']);
  });

  test('a write that was open when its worker was lost is unknown', () => {
    expect(effectStatus(after(...written, resumed))).toBe('unknown');
    expect(commandsAfter(...written, resumed)).toEqual(['verify']);
  });

  test('a read that was open when its worker was lost simply runs again', () => {
    const reading = [...asked, calls('get'), checked(read()), begun()];

    expect(commandsAfter(...reading, resumed)).toEqual(['call']);
  });

  test('not finding it before its validity has passed proves nothing', () => {
    const state = after(...unanswered, reread('not_landed', { at: at + 5_000 }));

    expect(state.phase).toBe('awaiting_verification');
    expect(effectStatus(state)).toBe('unknown');
  });

  test('not finding it after its validity has passed proves that it did not land', () => {
    const state = after(...unanswered, reread('not_landed', { at: at + 5_001 }));

    expect(effectStatus(state)).toBe('not_landed');
    expect(state.phase).toBe('requesting_model');
  });

  test('without a validity the other side enforces, not finding it never proves anything', () => {
    const open = [...asked, calls('put'), checked(write()), begun(), settled('unknown')];

    const state = after(...open, reread('not_landed', { at: at + 9_000_000, final: true }));

    expect(state.ending).toEqual({ outcome: 'escalated', reason: 'effect_unknown' });
    expect(effectStatus(state)).toBe('unknown');
  });

  test('[S4-24] one that is found counts as done, with what the re-read found as its result', () => {
    const call = after(...unanswered, reread('landed')).rounds[0]?.calls[0];

    expect(call?.effect?.status).toBe('verified');
    expect(call?.result).toMatchObject({ kind: 'ok', observation: { data: { status: 'landed' } } });
  });

  test('a refusal of the other side is an answer: nothing happened', () => {
    const state = after(...written, settled('refused'));

    expect(effectStatus(state)).toBe('rejected');
    expect(state.phase).toBe('requesting_model');
  });
});

describe('approvals', () => {
  const asking = [...asked, calls('get', 'put'), checked(read('1.1')), begun(), settled('ok')];
  const waiting = [...asking, checked(asks('1.2')), parked('approval'), resumed];

  test('[S2-12] an approved action is checked again and is the one that was frozen', () => {
    const state = after(...waiting, decided('approved'));
    const call = currentCalls(state)[1];

    expect(commandsAfter(...waiting, decided('approved'))).toEqual(['check']);
    expect(call).toMatchObject({ step: 'approved', arguments: { n: 1 } });
    expect(currentCalls(state)[0]?.step).toBe('done');
  });

  test('an approval does not count as a further tool call', () => {
    const state = after(...waiting, decided('approved'), checked(write('1.2')));

    expect(state.spent.toolCalls).toBe(2);
  });

  test.each([
    ['rejected', { outcome: 'escalated', reason: 'approval_rejected' }],
    ['expired', { outcome: 'escalated', reason: 'approval_expired' }],
    ['cancelled', { outcome: 'cancelled', reason: 'cancelled' }],
  ] as const)('one that is %s ends the turn by that name', (decision, ending) => {
    expect(after(...waiting, decided(decision)).ending).toEqual(ending);
  });

  test('a turn that is woken without a decision waits on', () => {
    expect(commandsAfter(...waiting)).toEqual(['park']);
  });

  test('when the world has changed since, the person is asked again', () => {
    const again = [...waiting, decided('approved'), checked(asks('1.2', 'a2'))];

    expect(after(...again).phase).toBe('awaiting_approval');
    expect(commandsAfter(...again)).toEqual(['park']);
  });
});

describe('stopping from outside', () => {
  test.each([
    ['cancelled', { outcome: 'cancelled', reason: 'cancelled' }],
    ['human_takeover', { outcome: 'escalated', reason: 'human_takeover' }],
    ['deadline', { outcome: 'timed_out', reason: 'deadline' }],
    ['token_budget', { outcome: 'budget_exhausted', reason: 'token_budget' }],
    ['cost_budget', { outcome: 'budget_exhausted', reason: 'cost_budget' }],
  ] as const)('[S2-11] [P9] %s ends the turn by its own name', (cause, ending) => {
    expect(after(...asked, stop(cause)).ending).toEqual(ending);
  });

  test('a conversation a person owns gets no model call', () => {
    expect(commandsAfter(started({}, 'human'))).toEqual(['end']);
  });

  test('[S4-34] a turn that has ended cannot end again', () => {
    const ended = after(...asked, failed('refusal'), over);

    expect(() => decide(ended, stop())).toThrow(/cannot happen in phase ended/);
    expect(() => decide(ended, over)).toThrow(/cannot happen in phase ended/);
  });
});
