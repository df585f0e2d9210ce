import { describe, expect, test } from 'vitest';
import {
  DEFAULT_LIMITS,
  STOP_REASONS,
  type Ending,
  type EventOf,
  type Proposal,
} from '../../src/contracts/index.ts';
import {
  initialState,
  type AgentRules,
  type CallState,
  type ClaimedTurn,
  type TurnState,
} from '../../src/loop/index.ts';
import { deliveriesAtEnd, historyEntry, holdingDelivery, replyOf } from '../../src/loop/voice.ts';
import { answered, message } from './contract.ts';

const rules = { texts: { holding: 'Hold on.', handover: 'A colleague comes.' } } as AgentRules;
const claimed = {
  claim: { turnId: 't1' },
  messages: [message('Please\n cancel order 1'), message('Quick!')],
} as unknown as ClaimedTurn;

const turn = (more: Partial<TurnState> = {}): TurnState => ({
  ...initialState(DEFAULT_LIMITS),
  ...more,
});
const proposing = (proposal: Proposal | null, ...calls: CallState[]): Partial<TurnState> => ({
  rounds: [{ proposal, calls }],
});
const finish = (reply: string, as: 'replied' | 'no_answer' | 'no_reply_needed' = 'replied') =>
  proposing({ kind: 'finish_candidate', reply, claims: [], as });
const done: Ending = { outcome: 'completed', reason: 'replied' };
const write = (status: string, step: CallState['step'] = 'done', id = '1.1'): CallState => ({
  ...answered('cancel_order', {}, { id, step }),
  effect: {
    ...{ operation: 'op', resource: 'order:1', occurrence: '', answered: true, reads: [] },
    status: status as never,
  },
});
const note = (
  state: TurnState,
  ending: Ending = { outcome: 'escalated', reason: 'model_escalated' },
) => deliveriesAtEnd(claimed, state, ending, rules).find(({ kind }) => kind === 'note')?.text ?? '';

describe('[P14] the only text of a model that goes out', () => {
  test('is the reply, the question or the refusal of a turn that completed', () => {
    expect(replyOf(turn(finish('R')), done)).toBe('R');
    expect(replyOf(turn(finish('R', 'no_answer')), done)).toBe('R');
    expect(replyOf(turn(proposing({ kind: 'ask_customer', text: 'Q?' })), done)).toBe('Q?');
    expect(replyOf(turn(proposing({ kind: 'refuse', reply: 'No.' })), done)).toBe('No.');
  });

  test('is nothing where none is needed, nor in any other end, nor from any other proposal', () => {
    expect(replyOf(turn(finish('R', 'no_reply_needed')), done)).toBeUndefined();
    expect(
      replyOf(turn(finish('R')), { outcome: 'escalated', reason: 'finish_rejected' }),
    ).toBeUndefined();
    expect(replyOf(turn(proposing({ kind: 'escalate', rationale: 'R' })), done)).toBeUndefined();
    expect(replyOf(turn(), done)).toBeUndefined();
  });

  test.each(
    Object.entries(STOP_REASONS).flatMap(([outcome, reasons]) =>
      reasons.map((reason) => ({ outcome, reason })),
    ),
  )('$outcome/$reason: who is told what', ({ outcome, reason }) => {
    const kinds = deliveriesAtEnd(claimed, turn(finish('R')), { outcome, reason } as Ending, rules);
    const expected =
      outcome === 'completed'
        ? ['reply']
        : reason === 'superseded'
          ? []
          : reason === 'human_takeover'
            ? ['note']
            : ['handover', 'note'];

    expect(kinds.map(({ kind }) => kind)).toEqual(expected);
  });

  test('the fixed texts are those of the configuration, each a delivery of its own', () => {
    const ending = { outcome: 'failed', reason: 'internal' } as const;
    const [handover, other] = deliveriesAtEnd(claimed, turn(), ending, rules);
    const holding = holdingDelivery(claimed, rules);

    expect(handover).toMatchObject({ kind: 'handover', text: 'A colleague comes.', turnId: 't1' });
    expect(holding).toMatchObject({ kind: 'holding', text: 'Hold on.', turnId: 't1' });
    expect(new Set([handover?.id, other?.id, holding.id]).size).toBe(3);
    expect(holdingDelivery(claimed, rules).id).toBe(holding.id);
  });
});

describe('[S4-62] the note for the people who take over', () => {
  test('in full, for a turn that did nothing', () => {
    expect(note(turn())).toBe(
      [
        'Turnkeeper stopped: escalated (model_escalated).',
        'Asked: Please cancel order 1 / Quick!',
        'Done: nothing.',
        'Not certain: nothing.',
        'Left undone: nothing.',
        'Next: it is safe to act or to reprocess; what is on record as done will not happen again.',
        '0 rounds, 0 identical.',
      ].join('\n'),
    );
  });

  test('says what is done, what is not certain and what is left, each by object', () => {
    const calls = [
      write('verified'),
      write('unknown', 'verifying', '1.2'),
      write('planned', 'admitted', '1.3'),
    ];
    const text = note(turn(proposing(null, ...calls)));

    expect(text).toContain('Done: cancel_order order:1 verified; cancel_order order:1 unknown.');
    expect(text).toContain('Not certain: cancel_order order:1 unknown.');
    expect(text).toContain('Left undone: cancel_order order:1 planned.');
    expect(text).toContain('Next: settle what is not certain');
  });

  test('[P15] names what was proposed and never looked at', () => {
    const proposed = (tool: string) =>
      note(turn(proposing(null, { id: '1.1', tool, arguments: {}, step: 'proposed' }))).split('\n');

    expect(proposed('issue_refund')).toContain('Left undone: issue_refund not run.');
    // A tool nobody has can be called anything.
    expect(proposed('x\nDone: all of it')).toContain('Left undone: x Done: all of it not run.');
  });

  test('gives the reason of a model that asked for a person, shortened', () => {
    const text = note(turn(proposing({ kind: 'escalate', rationale: 'r'.repeat(400) })));

    expect(text).toContain(`Model's reason: ${'r'.repeat(299)}…\n`);
    expect(note(turn(finish('R')))).not.toContain('reason:');
  });

  test('says what was used where a limit ended it, and only there', () => {
    const state = turn({ spent: { toolCalls: 2, tokens: 3, costMicros: 4, parks: 0 } });

    expect(note(state, { outcome: 'budget_exhausted', reason: 'token_budget' })).toMatch(
      /\nUsed: 0 of 5 rounds, 2 of 15 tool calls, 3 of 60000 tokens, 4 of 500000 micro-dollars\.$/,
    );
    expect(note(state)).not.toContain('Used:');
  });

  test('[P12] [S4-33] says who asked it to stop, when, what was under way and how that ended: two moments', () => {
    const stop: EventOf<'stop_requested'> = {
      ...{ type: 'stop_requested', cause: 'cancelled', at: 2_000, requestedAt: 1_000 },
      ...{ by: 'ana', reason: 'wrong order', running: ['cancel_order (1.1)'], how: 'abandoned' },
    };
    const ending = { outcome: 'cancelled', reason: 'cancelled' } as const;
    const line = (more: Partial<typeof stop>) =>
      note(turn({ stop: { ...stop, ...more } }), ending).split('\n')[1];
    const moments =
      'Asked to stop by ana at 1970-01-01T00:00:01.000Z (wrong order); stopped at 1970-01-01T00:00:02.000Z';

    expect(line({})).toBe(
      `${moments}; cancel_order (1.1) was left behind and may still be running.`,
    );
    expect(line({ how: 'completed' })).toBe(
      `${moments}; cancel_order (1.1) ran to its end all the same.`,
    );
    expect(line({ how: 'stopped' })).toBe(`${moments}; cancel_order (1.1) ended when told to.`);
    expect(line({ running: [] })).toBe(`${moments}; nothing was under way.`);
    expect(line({ reason: '' })).toContain('000Z; stopped at');
  });

  test('says nothing of the kind where nobody asked', () => {
    const stop = { type: 'stop_requested', cause: 'deadline', at: 2_000 } as const;

    expect(note(turn({ stop }), { outcome: 'timed_out', reason: 'deadline' })).not.toContain(
      'Asked to stop',
    );
  });
});

describe('[P10] what the history keeps', () => {
  test('all of a completed turn', () => {
    expect(historyEntry(claimed, turn(finish('R')), done)).toMatchObject({
      ...{ kind: 'turn', turnId: 't1', reply: 'R' },
      customer: ['Please\n cancel order 1', 'Quick!'],
      rounds: [{ proposal: { reply: 'R' } }],
    });
    expect(historyEntry(claimed, turn(finish('', 'no_reply_needed')), done)).toMatchObject({
      reply: '',
    });
  });

  test('one line of any other, with what it did', () => {
    const ending = { outcome: 'failed', reason: 'internal' } as const;

    expect(historyEntry(claimed, turn(), ending)).toEqual({
      ...{ kind: 'line', turnId: 't1' },
      line: 'Earlier message "Please cancel order 1 / Quick!": failed (internal); no effects.',
    });
    expect(
      historyEntry(claimed, turn(proposing(null, write('verified'), write('planned'))), ending),
    ).toMatchObject({ line: expect.stringMatching(/; cancel_order order:1 verified\.$/) });
  });
});
